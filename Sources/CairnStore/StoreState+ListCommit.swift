import CairnMerge

/// Commits of one stroke in one list and nothing else, which is what each keystroke is. They say
/// what `collect` would say and leave what `commit` would leave, and spare the way through columns
/// that many records and fields take.
extension StoreState {
  /// What was written of a stroke.
  struct Stroke {
    var table: Int
    var dot: Dot
    var time: Int64
    var stroke: ListStroke
  }

  /// Appends the delta of all that is pending, edits of one list in that table, if it is one
  /// stroke. If not, appends nothing and returns nil; so it does for the first delta after others'
  /// have come, which has to name them.
  mutating func encodeStroke(
    in table: Int, time now: Int64, by encoder: inout DeltaEncoder, into out: inout [UInt8]
  ) -> Stroke? {
    if !isAlone, hasDependencies() { return nil }
    let (dot, time) = (nextDot, nextTime(now))
    let stroke = tables[table].encodeStroke(dot: dot, time: time, by: &encoder, into: &out)
    return stroke.map { Stroke(table: table, dot: dot, time: time, stroke: $0) }
  }

  /// The delta is in the log.
  mutating func commit(_ done: Stroke) {
    see(done.dot, by: device)
    // No cell refers to its stamp.
    tables[done.table].commit(done.stroke, stamp: Stamp(dot: done.dot, time: done.time))
    pendingSize = 0
    finish(done.dot, time: done.time)
  }

  /// The table in which something is pending, if that is edits of one committed list, in a record
  /// that the segment knows, and no more.
  mutating func tableOfOnlyList() -> Int? {
    var only: Int?
    for number in tables.indices where tables[number].hasPending {
      if only != nil || !tables[number].hasOnlyOneList() { return nil }
      only = number
    }
    return only
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

  fileprivate mutating func encodeStroke(
    dot: Dot, time: Int64, by encoder: inout DeltaEncoder, into out: inout [UInt8]
  ) -> ListStroke? {
    let key = pendingLists[0].key
    let delta = ListDelta(
      dot: dot, time: time, table: name, field: fieldNames[Int(key.column)],
      reference: references[Int(key.slot)] - 1)
    var stroke: ListStroke?
    withPending(key) { list in
      stroke = list.stroke()
      if let stroke { encoder.encode(delta, stroke, of: &list, into: &out) }
    }
    return stroke
  }

  fileprivate mutating func commit(_ stroke: ListStroke, stamp: Stamp) {
    withPending(pendingLists[0].key) { $0.commit(stroke, stamp: stamp) }
    pendingMarks[pendingRecords[0].slot] = 0
    forgetPending()
  }
}
