/// The nodes of a rope's tree, blocks of 32 words in one array, named by their numbers.
///
///     word   leaf                       branch
///     0      parent 32, 0 16, index 8, count 8     (both)
///     1      next leaf 32, previous 32  sum of child 0
///     2…     runs, 30 at most           sums of the other children, 15 in all
///     16…                               children
///
/// `index` is the block's index among its parent's children, so that going up needs no search. A
/// block that is free has the number of the next free one in its first word. While there is one
/// block only, the array is no longer than what is used of it: most lists are small.
struct RopeBlocks: Sendable {
  /// No block.
  static let none = UInt32.max
  static let stride = 32
  /// Runs in a leaf at most.
  static let capacity = stride - firstRun
  /// Children of a branch at most.
  static let fanout = (stride - 1) / 2

  private static let firstRun = 2
  private static let firstSum = 1
  private static let firstChild = firstSum + fanout

  private(set) var words: ContiguousArray<UInt64> = []
  private var free = RopeBlocks.none

  /// Whether there never was a block.
  var isEmpty: Bool { words.isEmpty }

  // MARK: blocks

  /// A block with nothing in it, and neither parent nor neighbours.
  mutating func allocate() -> UInt32 {
    let block: UInt32
    if free != RopeBlocks.none {
      block = free
      free = UInt32(truncatingIfNeeded: words[start(block)])
    } else if words.isEmpty {
      block = 0
      words.append(0)
      words.append(0)
    } else {
      let used = (words.count + RopeBlocks.stride - 1) / RopeBlocks.stride
      block = UInt32(used)
      let end = (used + 1) * RopeBlocks.stride
      words.append(contentsOf: repeatElement(0, count: end - words.count))
    }
    words[start(block)] = UInt64(RopeBlocks.none) << 32
    words[start(block) + 1] = UInt64.max
    return block
  }

  mutating func release(_ block: UInt32) {
    words[start(block)] = UInt64(free)
    free = block
  }

  @inline(__always)
  private func start(_ block: UInt32) -> Int { Int(block) &* RopeBlocks.stride }

  /// Runs of a leaf, or children of a branch.
  @inline(__always)
  func count(_ block: UInt32) -> Int { Int(words[start(block)] & 0xFF) }

  @inline(__always)
  mutating func setCount(_ block: UInt32, _ count: Int) {
    words[start(block)] = words[start(block)] & ~0xFF | UInt64(count)
  }

  @inline(__always)
  func parent(_ block: UInt32) -> UInt32 {
    UInt32(truncatingIfNeeded: words[start(block)] >> 32)
  }

  /// The block's index among its parent's children.
  @inline(__always)
  func index(_ block: UInt32) -> Int { Int(words[start(block)] >> 8 & 0xFF) }

  mutating func setParent(_ block: UInt32, _ parent: UInt32, index: Int) {
    let count = words[start(block)] & 0xFF
    words[start(block)] = UInt64(parent) << 32 | UInt64(index) << 8 | count
  }

  // MARK: leaves

  @inline(__always)
  func run(_ leaf: UInt32, _ index: Int) -> RopeRun {
    RopeRun(word: words[start(leaf) &+ RopeBlocks.firstRun &+ index])
  }

  @inline(__always)
  mutating func setRun(_ leaf: UInt32, _ index: Int, _ run: RopeRun) {
    words[start(leaf) &+ RopeBlocks.firstRun &+ index] = run.word
  }

  /// Makes room for `gap` more runs at an index; there must be room in the leaf. What is in the gap
  /// has to be set.
  mutating func openRuns(_ leaf: UInt32, at index: Int, gap: Int) {
    let count = count(leaf)
    let first = start(leaf) + RopeBlocks.firstRun
    let end = first + count + gap
    while words.count < end { words.append(0) }
    var place = end - 1
    while place >= first + index + gap {
      words[place] = words[place - gap]
      place -= 1
    }
    setCount(leaf, count + gap)
  }

  mutating func removeRun(_ leaf: UInt32, _ index: Int) {
    let last = count(leaf) - 1
    let first = start(leaf) + RopeBlocks.firstRun
    for place in (first + index)..<(first + last) { words[place] = words[place + 1] }
    setCount(leaf, last)
  }

  @inline(__always)
  func next(_ leaf: UInt32) -> UInt32 {
    UInt32(truncatingIfNeeded: words[start(leaf) + 1] >> 32)
  }

  @inline(__always)
  func previous(_ leaf: UInt32) -> UInt32 {
    UInt32(truncatingIfNeeded: words[start(leaf) + 1])
  }

  /// Makes two leaves neighbours; either may be none.
  mutating func link(_ left: UInt32, _ right: UInt32) {
    if left != RopeBlocks.none {
      words[start(left) + 1] = UInt64(right) << 32 | UInt64(previous(left))
    }
    if right != RopeBlocks.none {
      words[start(right) + 1] = UInt64(next(right)) << 32 | UInt64(left)
    }
  }

  // MARK: branches

  @inline(__always)
  func sum(_ branch: UInt32, _ index: Int) -> RopeSum {
    RopeSum(word: words[start(branch) &+ RopeBlocks.firstSum &+ index])
  }

  @inline(__always)
  mutating func add(_ sum: RopeSum, _ branch: UInt32, _ index: Int) {
    words[start(branch) &+ RopeBlocks.firstSum &+ index] &+= sum.word
  }

  /// Adds to the sum of a leaf in its parent, and so on up to the root.
  mutating func add(_ change: RopeSum, above leaf: UInt32, height: UInt32) {
    // One question for the whole way whether the array is shared.
    var words = words.mutableSpan
    var block = leaf
    for _ in 0..<height {
      let head = words[Int(block) &* RopeBlocks.stride]
      block = UInt32(truncatingIfNeeded: head >> 32)
      let sums = Int(block) &* RopeBlocks.stride &+ RopeBlocks.firstSum
      words[sums &+ Int(head >> 8 & 0xFF)] &+= change.word
    }
  }

  @inline(__always)
  func child(_ branch: UInt32, _ index: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: words[start(branch) &+ RopeBlocks.firstChild &+ index])
  }

  /// Puts a child at an index, where there may be none or one that goes somewhere else.
  mutating func setChild(_ branch: UInt32, _ index: Int, _ child: UInt32, _ sum: RopeSum) {
    words[start(branch) + RopeBlocks.firstSum + index] = sum.word
    words[start(branch) + RopeBlocks.firstChild + index] = UInt64(child)
    setParent(child, branch, index: index)
  }
}
