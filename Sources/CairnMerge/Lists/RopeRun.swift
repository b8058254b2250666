/// Consecutive slots that follow each other in a rope and are all visible or all hidden, in one
/// word: the first slot (32 bits), the length (31), the visibility (1).
struct RopeRun: Equatable {
  /// Nodes in a run at most: bounds what it costs to move a run to another leaf.
  static let longest = 256

  var word: UInt64

  @inline(__always)
  init(word: UInt64) {
    self.word = word
  }

  @inline(__always)
  init(_ slots: Range<UInt32>, isVisible: Bool) {
    let count = slots.upperBound &- slots.lowerBound
    word = UInt64(slots.lowerBound) << 32 | UInt64(count) << 1 | (isVisible ? 1 : 0)
  }

  var first: UInt32 {
    @inline(__always) get { UInt32(truncatingIfNeeded: word >> 32) }
  }

  var count: UInt32 {
    @inline(__always) get { UInt32(truncatingIfNeeded: word) >> 1 }
  }

  /// The slot behind the last one.
  var end: UInt32 {
    @inline(__always) get { first &+ count }
  }

  var isVisible: Bool {
    @inline(__always) get { word & 1 == 1 }
  }

  var slots: Range<UInt32> { first..<end }

  var visibleCount: UInt32 {
    // Without a branch: visibility is what can't be predicted in a text that was edited a lot.
    @inline(__always) get { count & (0 &- UInt32(truncatingIfNeeded: word & 1)) }
  }

  var sum: RopeSum {
    @inline(__always) get { RopeSum(nodes: count, visible: visibleCount) }
  }

  @inline(__always)
  func contains(_ slot: UInt32) -> Bool { slot &- first < count }

  /// The nodes before a slot.
  @inline(__always)
  func prefix(upTo slot: UInt32) -> RopeRun { RopeRun(first..<slot, isVisible: isVisible) }

  /// A slot and the nodes behind it.
  @inline(__always)
  func suffix(from slot: UInt32) -> RopeRun { RopeRun(slot..<end, isVisible: isVisible) }

  /// Both as one run if that is possible: they must follow each other in the rope.
  @inline(__always)
  func joined(with next: RopeRun) -> RopeRun? {
    guard end == next.first, isVisible == next.isVisible,
      count &+ next.count <= UInt32(RopeRun.longest)
    else { return nil }
    return RopeRun(first..<next.end, isVisible: isVisible)
  }
}
