/// The numbers that stamps of one table get in the one which takes its place: only those that cells
/// still refer to go there.
struct MovedStamps {
  private let old: StampTable
  /// By the old number; `settled` for one that nobody has asked for so far.
  private var numbers: [UInt32]

  init(_ old: StampTable) {
    self.old = old
    numbers = [UInt32](repeating: StampTable.settled, count: old.count + 1)
  }

  mutating func number(_ stamp: UInt32, in new: inout StampTable) -> UInt32 {
    if stamp == StampTable.settled || stamp == StampTable.pending { return stamp }
    let known = numbers[Int(stamp)]
    if known != StampTable.settled { return known }
    let number = new.add(old[stamp])
    numbers[Int(stamp)] = number
    return number
  }
}
