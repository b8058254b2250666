/// How many nodes, and how many of them are visible, in one word, so that one addition does both.
/// Differences are sums too: they wrap around.
struct RopeSum: Equatable {
  var word: UInt64

  @inline(__always)
  init(word: UInt64 = 0) {
    self.word = word
  }

  @inline(__always)
  init(nodes: UInt32, visible: UInt32) {
    word = UInt64(nodes) << 32 | UInt64(visible)
  }

  var nodes: UInt32 {
    @inline(__always) get { UInt32(truncatingIfNeeded: word >> 32) }
  }

  var visible: UInt32 {
    @inline(__always) get { UInt32(truncatingIfNeeded: word) }
  }

  @inline(__always)
  static func &- (left: RopeSum, right: RopeSum) -> RopeSum {
    RopeSum(word: left.word &- right.word)
  }

  @inline(__always)
  static func &+= (left: inout RopeSum, right: RopeSum) {
    left.word &+= right.word
  }
}
