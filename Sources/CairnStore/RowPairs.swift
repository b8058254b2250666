import CairnMerge

/// The rows of one table in two states side by side, in the order of their ids. A class, since to
/// hand it on must not cost a copy of all that it stands on.
final class RowPairs {
  /// Which of the two states has a record.
  enum Holder { case mine, theirs, both }

  private(set) var mine: SnapshotRows
  private(set) var theirs: SnapshotRows
  private var hasMine = false
  private var hasTheirs = false
  private var last: Holder? = .both

  init(_ mine: SnapshotRows, _ theirs: SnapshotRows) {
    self.mine = mine
    self.theirs = theirs
  }

  /// Goes on to the next record; nil after the last. A state that does not have it is at a later
  /// one.
  func next(_ fields: inout FieldNumbers) throws(StoreError) -> Holder? {
    if last == .mine || last == .both { hasMine = try mine.next(&fields) }
    if last == .theirs || last == .both { hasTheirs = try theirs.next(&fields) }
    switch (hasMine, hasTheirs) {
    case (false, false): last = nil
    case (true, false): last = .mine
    case (false, true): last = .theirs
    case (true, true):
      let (a, b) = (mine.row.name, theirs.row.name)
      last = a == b ? .both : a < b ? .mine : .theirs
    }
    return last
  }
}
