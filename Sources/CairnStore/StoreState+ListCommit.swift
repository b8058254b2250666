import CairnMerge

/// Commits of edits of one list and nothing else, which is what each keystroke is. They say what
/// `collect` would say and leave what `commit` would leave, and spare the way through columns that
/// many records and fields take.
extension StoreState {
  /// The table in which something is pending, if that is edits of one committed list, in a record
  /// that the segment knows, and nothing else.
  mutating func tableOfOnlyList() -> Int? {
    var only: Int?
    for number in tables.indices where tables[number].hasPending {
      if only != nil || !tables[number].hasOnlyOneList() { return nil }
      only = number
    }
    return only
  }

  /// The delta of that. False if the edits make no difference.
  mutating func collectList(
    of number: Int, time now: Int64, into delta: inout ListDelta
  ) -> Bool {
    guard tables[number].collectOnlyList(into: &delta, isAlone: isAlone) else { return false }
    delta.dot = nextDot
    delta.time = nextTime(now)
    if !isAlone { delta.dependencies = dependencies() }
    return true
  }

  /// The delta is in the log. It stays as it is; handed over in any other way it would be copied.
  mutating func commitList(of number: Int, _ delta: inout ListDelta) {
    let seen = vector
    for dependency in delta.dependencies { see(dependency, by: device) }
    see(delta.dot, by: device)
    // No cell refers to its stamp.
    tables[number].commitOnlyList(&delta, seen: seen)
    pendingSize = 0
    finish(delta.dot, time: delta.time)
  }
}

extension TableState {
  fileprivate mutating func hasOnlyOneList() -> Bool {
    guard undo.isEmpty, pendingRecords.count == 1, pendingLists.count == 1, !isReserved,
      !pendingRecords[0].inserted, !pendingRecords[0].deleted, !pendingLists[0].isGone
    else { return false }
    let slot = pendingRecords[0].slot
    return Int(pendingLists[0].key.slot) == slot && slot < references.count && references[slot] != 0
  }

  fileprivate mutating func collectOnlyList(into delta: inout ListDelta, isAlone: Bool) -> Bool {
    let key = pendingLists[0].key
    let (slot, column) = (Int(key.slot), Int(key.column))
    delta.table = name
    delta.field = fieldNames[column]
    delta.reference = references[slot] - 1
    delta.isSpliced = isAlone
    if !isAlone {
      return complex.collectList(slot, delta.field, root: key.root, into: &delta.edit)
    }
    var hasChange = false
    withPending(key) { hasChange = $0.collect(into: &delta.splices) }
    return hasChange
  }

  fileprivate mutating func commitOnlyList(_ delta: inout ListDelta, seen: VersionVector) {
    let key = pendingLists[0].key
    let slot = Int(key.slot)
    if delta.isSpliced {
      withPending(key) { $0.commitPlain() }
    } else {
      complex.commitList(
        slot, delta.field, root: key.root, delta.edit,
        stamp: Stamp(dot: delta.dot, time: delta.time), seen: seen)
    }
    pendingMarks[slot] = 0
    forgetPending()
  }
}
