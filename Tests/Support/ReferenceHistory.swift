package import CairnMerge

/// The merge rules the slow and obvious way: all deltas are kept, and every question is answered
/// from scratch by the definitions of MERGE.md. Shares no merging code with CairnMerge.
package struct ReferenceHistory: Sendable {
  package private(set) var atoms: [ReferenceAtom] = []
  package private(set) var deletes: [ReferenceDelete] = []

  /// The deltas may come in any order; the causal past of each must be among them.
  package init(_ deltas: some Sequence<ReferenceDelta>) {
    for delta in deltas.sorted(by: { $0.depth < $1.depth }) { add(delta) }
  }

  /// One record as a device sees it that has seen these deltas.
  package func view(_ record: String, seen: VersionVector) -> ReferenceView {
    ReferenceView(
      atoms: atoms.filter { $0.record == record && seen.contains($0.dot) },
      deletes: deletes.filter { $0.record == record && seen.contains($0.dot) })
  }

  private mutating func add(_ delta: ReferenceDelta) {
    var before = delta.context
    before[delta.stamp.dot.device] -= 1
    var inserted: Set<String> = []
    for step in delta.steps {
      switch step.intent {
      case .delete:
        deletes.append(
          ReferenceDelete(record: step.record, dot: delta.stamp.dot, context: delta.context))
      case .insert:
        inserted.insert(step.record)
        add(.presence, of: step.record, delta, born: view(step.record, seen: delta.context).latest)
      case .set(let field, let value, let rule):
        // After an insert of the same delta the author works on what the delete left over, if
        // there was one; else on what it had seen before.
        let isNew = inserted.contains(step.record)
        let seen = isNew ? delta.context : before
        let view = view(step.record, seen: seen)
        add(
          view.kind(of: value, field: field, rule: rule, dot: delta.stamp.dot), of: step.record,
          delta, born: isNew ? view.latest : view.bornAlive)
      }
    }
  }

  private mutating func add(
    _ kind: ReferenceAtom.Kind, of record: String, _ delta: ReferenceDelta, born: Set<Dot>
  ) {
    atoms.append(
      ReferenceAtom(
        record: record, stamp: delta.stamp, context: delta.context, born: born, kind: kind))
  }
}

extension ReferenceDelta {
  /// Grows along every causal chain.
  fileprivate var depth: UInt64 { context.entries.reduce(0) { $0 + $1.sequence } }
}
