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
    var place: ListPlace
  }

  /// Appends the delta of all that is pending, edits of one list in that table, if it is one
  /// stroke. If not, appends nothing and returns nil; so it does for the first delta after others'
  /// have come, which has to name them, and for the first one that names the list in a segment.
  mutating func encodeStroke(
    in table: Int, time now: Int64, by encoder: inout DeltaEncoder, into out: inout [UInt8]
  ) -> Stroke? {
    if !isAlone, hasDependencies() { return nil }
    let (dot, time) = (nextDot, nextTime(now))
    guard
      let (stroke, place) = tables[table].encodeStroke(
        dot: dot, time: time, by: &encoder, into: &out)
    else { return nil }
    return Stroke(table: table, dot: dot, time: time, stroke: stroke, place: place)
  }

  /// The delta is in the log.
  mutating func commit(_ done: Stroke) {
    seeNext(done.dot)
    // No cell refers to its stamp.
    tables[done.table].commit(
      done.stroke, at: done.place, stamp: Stamp(dot: done.dot, time: done.time))
    pendingSize = 0
    finish(done.dot, time: done.time)
  }
}

extension [TableState] {
  /// The table in which something is pending, if that is edits of one committed list, and no more.
  var tableOfOnlyList: Int? {
    var only: Int?
    for number in indices where self[number].hasPending {
      if only != nil || !self[number].hasOnlyOneList { return nil }
      only = number
    }
    return only
  }
}

extension TableState {
  fileprivate var hasOnlyOneList: Bool {
    undo.isEmpty && pendingRecords.count == 1 && pendingLists.count == 1 && !isReserved
      && !pendingRecords[0].inserted && !pendingRecords[0].deleted && !pendingLists[0].isGone
      && Int(pendingLists[0].key.slot) == pendingRecords[0].slot
  }

  fileprivate mutating func encodeStroke(
    dot: Dot, time: Int64, by encoder: inout DeltaEncoder, into out: inout [UInt8]
  ) -> (ListStroke, ListPlace)? {
    let key = pendingLists[0].key
    let slot = Int(key.slot)
    // A record that the segment knows.
    guard slot < references.count, references[slot] != 0,
      let names = encoder.numbers(table: name, field: fieldNames[Int(key.column)]),
      let place = placeOfPending(key)
    else { return nil }
    let delta = ListDelta(dot: dot, time: time, names: names, reference: references[slot] - 1)
    return withList(at: place) { list -> (ListStroke, ListPlace)? in
      guard let stroke = list.stroke(), encoder.encode(delta, stroke, of: &list, into: &out) else {
        return nil
      }
      return (stroke, place)
    }
  }

  fileprivate mutating func commit(_ stroke: ListStroke, at place: ListPlace, stamp: Stamp) {
    withList(at: place) { $0.commit(stroke, stamp: stamp) }
    pendingMarks[pendingRecords[0].slot] = 0
    forgetPending()
  }
}
