import CairnMerge

/// A list with pending edits: a field of a record in the overlay and, since a field in conflict has
/// several lists, the delta that this one began with.
struct ListKey: Equatable {
  var slot: UInt32
  var column: UInt32
  /// `Stamp.settled`'s for a list that is not in its record's state.
  var root: Dot

  init(slot: Int, column: Int, root: Dot) {
    self.slot = UInt32(slot)
    self.column = UInt32(column)
    self.root = root
  }

  func isOf(_ slot: Int, _ column: Int) -> Bool { self.slot == slot && self.column == column }
}

/// A committed list with pending edits, or one that had them before something else took its place.
struct PendingList {
  let key: ListKey
  /// The number of the one before it in the same record, plus one: of 10,000 lists that are edited
  /// in one delta only its own are asked when a field is set.
  let previous: UInt32
  /// What they count with in the pending delta.
  var size = 0
  var isGone = false

  init(key: ListKey, previous: UInt32) { (self.key, self.previous) = (key, previous) }
}
