package import CairnMerge

/// Fields that hold lists, by the definitions of MERGE.md: `ReferenceHistory` says which writes of
/// a field are left, this says what lists they stand for.
package struct ReferenceFields: Sendable {
  private struct Write: Hashable {
    var field: String
    var dot: Dot
  }

  package private(set) var history = ReferenceHistory([])
  private var deltas: [ReferenceDelta] = []
  private var created: Set<Write> = []
  private var edits: [String: [ReferenceListEdit]] = [:]

  package init() {}

  /// `created`: the fields where this delta began a list. Edits are not among the delta's steps.
  package mutating func add(
    _ delta: ReferenceDelta, created fields: [String], edits: [String: ReferenceListEdit]
  ) {
    deltas.append(delta)
    history = ReferenceHistory(deltas)
    for field in fields { created.insert(Write(field: field, dot: delta.stamp.dot)) }
    for (field, edit) in edits { self.edits[field, default: []].append(edit) }
  }

  package func view(_ record: String, seen: VersionVector) -> ReferenceFieldsView {
    ReferenceFieldsView(
      view: history.view(record, seen: seen),
      isCreated: { created.contains(Write(field: $0, dot: $1)) },
      edits: edits.mapValues { $0.filter { seen.contains($0.stamp.dot) } })
  }
}

/// What the fields of one record are in a set of deltas.
package struct ReferenceFieldsView {
  let view: ReferenceView
  let isCreated: (String, Dot) -> Bool
  let edits: [String: [ReferenceListEdit]]

  package var exists: Bool { view.exists }

  /// What is left of a field: writes of values, and at most one list that was created.
  private func survivors(_ field: String) -> (plain: [ReferenceAtom], created: [ReferenceAtom]) {
    let all = view.survivors(field)
    return (
      all.filter { !isCreated(field, $0.dot) }, all.filter { isCreated(field, $0.dot) }
    )
  }

  private func list(_ field: String, _ atoms: [ReferenceAtom]) -> ReferenceList? {
    var roots: [ReferenceList.Root] = []
    for atom in atoms {
      guard case .list(let values) = atom.value else { return nil }
      roots.append(ReferenceList.Root(stamp: atom.stamp, values: values))
    }
    return roots.isEmpty ? nil : ReferenceList(roots: roots, edits: edits[field] ?? [])
  }

  private func value(_ field: String, _ atom: ReferenceAtom, _ rule: Rule) -> FieldValue? {
    list(field, [atom]).map { .list($0.values(rule)) } ?? atom.value
  }

  /// The atoms of what is visible; none if that is a sum, or nothing.
  private func visibleAtoms(_ field: String, _ rule: Rule) -> [ReferenceAtom] {
    let (plain, created) = survivors(field)
    guard let first = plain.first, let last = plain.last else { return created }
    switch rule {
    case .remote, .sum: return [first]
    case .local: return [last]
    case .max, .min:
      let sign = rule == .max ? 1 : -1
      return [
        plain.first { atom in
          plain.allSatisfy {
            FieldValue.ordered(value(field, $0, .remote), value(field, atom, .remote)) * sign <= 0
          }
        } ?? first
      ]
    }
  }

  package func visible(_ field: String, rule: Rule) -> FieldValue? {
    let (plain, _) = survivors(field)
    if rule == .sum, plain.count > 1, plain.allSatisfy({ $0.value.flatMap(Number.init) != nil }),
      let sum = view.sum(field)
    {
      return sum.value
    }
    let atoms = visibleAtoms(field, rule)
    if let list = list(field, atoms) { return .list(list.values(rule)) }
    return atoms.first?.value
  }

  /// The list to edit, if what is visible is one.
  package func visibleList(_ field: String, rule: Rule) -> ReferenceList? {
    guard case .list = visible(field, rule: rule) else { return nil }
    return list(field, visibleAtoms(field, rule))
  }
}
