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

  /// One delta of a history, with what it did to lists.
  package struct Part: Sendable {
    package var delta: ReferenceDelta
    package var created: [String]
    package var edits: [String: ReferenceListEdit]

    package init(
      _ delta: ReferenceDelta, created: [String], edits: [String: ReferenceListEdit]
    ) {
      self.delta = delta
      self.created = created
      self.edits = edits
    }
  }

  /// A whole history at once: nothing is worked out again after each delta.
  package init(_ parts: some Sequence<Part>) {
    for part in parts {
      deltas.append(part.delta)
      for field in part.created { created.insert(Write(field: field, dot: part.delta.stamp.dot)) }
      for (field, edit) in part.edits { edits[field, default: []].append(edit) }
    }
    history = ReferenceHistory(deltas)
  }

  /// `created`: the fields where this delta began a list. Edits are not among the delta's steps.
  package mutating func add(
    _ delta: ReferenceDelta, created fields: [String], edits: [String: ReferenceListEdit]
  ) {
    deltas.append(delta)
    history = ReferenceHistory(deltas)
    for field in fields { created.insert(Write(field: field, dot: delta.stamp.dot)) }
    for (field, edit) in edits { self.edits[field, default: []].append(edit) }
  }

  /// The fields of one record as a device sees them that has seen these deltas.
  package func view(
    _ record: String, _ fields: [String], seen: VersionVector
  ) -> ReferenceFieldsView {
    let view = history.view(record, seen: seen)
    var result = ReferenceFieldsView(view: view)
    for field in fields {
      let edits = (edits[field] ?? []).filter { seen.contains($0.stamp.dot) }
      let all = view.survivors(field)
      let made = all.filter { created.contains(Write(field: field, dot: $0.dot)) }
      let plain = all.filter { !created.contains(Write(field: field, dot: $0.dot)) }
      result.fields[field] = ReferenceFieldsView.Field(
        plain: plain.map { atom in
          ReferenceFieldsView.Survivor(atom: atom, list: Self.list([atom], edits))
        },
        created: Self.list(made, edits), sum: view.sum(field)?.value)
    }
    return result
  }

  private static func list(
    _ atoms: [ReferenceAtom], _ edits: [ReferenceListEdit]
  ) -> ReferenceList? {
    var roots: [ReferenceList.Root] = []
    for atom in atoms {
      guard case .list(let values) = atom.value else { return nil }
      roots.append(ReferenceList.Root(stamp: atom.stamp, values: values))
    }
    return roots.isEmpty ? nil : ReferenceList(roots: roots, edits: edits)
  }
}

/// What the fields of one record are in a set of deltas.
package struct ReferenceFieldsView {
  struct Survivor {
    var atom: ReferenceAtom
    var list: ReferenceList?

    func value(_ rule: Rule) -> FieldValue? {
      list.map { .list($0.values(rule)) } ?? atom.value
    }
  }

  /// What is left of a field: writes of values, and at most one list that was created.
  struct Field {
    var plain: [Survivor]
    var created: ReferenceList?
    var sum: FieldValue?

    /// The plain write that is visible.
    func winner(_ rule: Rule) -> Survivor? {
      switch rule {
      case .remote, .sum: return plain.first
      case .local: return plain.last
      case .max, .min:
        let sign = rule == .max ? 1 : -1
        let values = plain.map { $0.value(.remote) }
        return zip(plain, values).first { _, value in
          values.allSatisfy { FieldValue.ordered($0, value) * sign <= 0 }
        }?.0
      }
    }
  }

  let view: ReferenceView
  var fields: [String: Field] = [:]

  package var exists: Bool { view.exists }

  package func visible(_ name: String, rule: Rule) -> FieldValue? {
    guard let field = fields[name] else { return nil }
    let areNumbers = field.plain.allSatisfy { $0.atom.value.flatMap(Number.init) != nil }
    if rule == .sum, field.plain.count > 1, areNumbers, let sum = field.sum { return sum }
    if field.plain.isEmpty { return field.created.map { .list($0.values(rule)) } }
    return field.winner(rule)?.value(rule)
  }

  /// The list to edit, if what is visible is one.
  package func visibleList(_ name: String, rule: Rule) -> ReferenceList? {
    guard let field = fields[name] else { return nil }
    return field.plain.isEmpty ? field.created : field.winner(rule)?.list
  }
}
