import CairnBytes
import CairnMerge
import TestSupport

/// A delta in the making, told twice: as writes, and as what they mean.
struct ListWork {
  let stamp: Stamp
  let context: VersionVector
  /// What the author sees now.
  var state: RecordState
  let view: ReferenceFieldsView
  var part: WireDelta.RecordPart
  var steps: [ReferenceDelta.Step] = []
  var created: [String] = []
  var edits: [String: ReferenceListEdit] = [:]
  var isDeleted = false
  var problem: String?

  init(stamp: Stamp, replica: Replica, view: ReferenceFieldsView) {
    self.stamp = stamp
    var context = replica.horizon.seen
    context.insert(stamp.dot)
    self.context = context
    self.view = view
    state = replica.state(ListSimulation.record)
    part = WireDelta.RecordPart(
      record: ListSimulation.record, born: state.bornOfUpdate, changes: [])
  }

  private mutating func make(_ change: RecordChange, _ intent: ReferenceIntent?) {
    part.changes.append(change)
    state.apply(change, stamp: stamp, context: context, born: part.born)
    if let intent { steps.append(ReferenceDelta.Step(ListSimulation.record, intent)) }
  }

  mutating func delete() {
    isDeleted = true
    make(.delete, .delete)
  }

  mutating func insert() {
    part.born = state.bornOfInsert
    make(.insert, .insert)
  }

  mutating func put(_ value: FieldValue?, _ field: String) {
    let write = state.register(field).write(value, rule: .remote, dot: stamp.dot)
    make(.write(field: field, write), .set(field, value))
  }

  mutating func create(_ items: [FieldValue], _ field: String) {
    let put = state.register(field).write(.list(items), rule: .remote, dot: stamp.dot)
    guard case .put(_, let covered) = put else { return }
    created.append(field)
    make(.write(field: field, .create(items, covered: covered)), .set(field, .list(items)))
  }

  /// Commits an edit where it was made, and the same bytes as others get them.
  mutating func commit(
    _ edit: ListEdit, _ meaning: ReferenceListEdit?, _ field: String, _ register: Register,
    _ index: Int
  ) {
    var bytes: [UInt8] = []
    let devices = ListEditCoding.encode(edit, dot: stamp.dot, into: &bytes)
    let copy = try? ListEditCoding.decode(bytes, 0..<bytes.count, dot: stamp.dot, devices: devices)
    guard let copy, copy == edit else {
      problem = "an edit reads back as another one"
      return
    }
    var local = register
    local.lists[index].commit(edit, stamp: stamp, context: context)
    if local.lists[index].hasPending { problem = "something is still pending" }
    make(.write(field: field, .edit(copy)), nil)
    edits[field] = meaning
    if state.register(field) != local { problem = "the author's list is not what others get" }
    if !local.lists[index].isRightSize { problem = "a size is wrong after a commit" }
    // The author goes on with the one that was edited in place.
    state.fields[field] = local
  }
}

extension RecordState {
  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    RecordStateCoding.encode(self, into: &bytes)
    return bytes
  }

  /// Written and read again; nil if that is refused.
  var reloaded: RecordState? {
    let bytes = encoded
    return try? RecordStateCoding.decode(bytes, 0..<bytes.count)
  }

  var isInTreeOrder: Bool { fields.values.allSatisfy { $0.lists.allSatisfy(\.isInTreeOrder) } }
}

extension ListState {
  /// Whether what is kept in books is what the values come to.
  var isRightSize: Bool {
    Rule.allCases.allSatisfy { rule in
      let values = values(rule)
      return values.count == count && FieldValue.list(values).size == size(rule)
    }
  }
}

extension ListEdit {
  /// Whether nothing is said twice: no item is both deleted and replaced or moved.
  var isSmall: Bool {
    let moved = chains.flatMap { $0.moves.map(\.item) }
    let dead = Set(
      deleted.flatMap { span in
        (0..<span.count).map { NodeID(span.first.dot, span.first.index + $0) }
      })
    return Set(moved).count == moved.count && Set(replaced).count == replaced.count
      && dead.isDisjoint(with: moved) && dead.isDisjoint(with: replaced)
      && chains.allSatisfy { $0.count > 0 } && inserted.count == nodeCount - moved.count
      && replacements.count == replaced.count
  }
}
