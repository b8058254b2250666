/// Where the subtrees of a list begin and end, for a list in which it takes long to go there.
///
/// From a node to the last of its children on the right, and on from there, one comes to the last
/// node of its subtree. A node is the last child of one other at most, so these ways have no node
/// in common: they lie in a rope, one way behind the other, in which the node that a way ends with
/// is the visible one. A new last child goes in right behind its parent, which cuts the way that
/// went on there into two. The same for first children on the left.
///
/// Both answers and changes take O(log n), however deep the tree is; but it is work with each node,
/// and 8 bytes: most lists never need it.
struct ListSpines: Sendable {
  private var ends = Rope()
  private var starts = Rope()

  init() {}

  /// The last node of a node's subtree.
  mutating func end(of slot: UInt32) -> UInt32 {
    ends.slot(atVisible: ends.visibleIndex(of: slot))
  }

  /// The first one.
  mutating func start(of slot: UInt32) -> UInt32 {
    starts.slot(atVisible: starts.visibleIndex(of: slot))
  }

  /// Nodes of which each hangs to the right of the one before it. `parent`: on which the first one
  /// hangs as its outermost child on that side; nil if others do, or if it is a root.
  mutating func add(_ slots: Range<UInt32>, to parent: UInt32?, _ side: ListEdit.Side) {
    ListSpines.add(slots, to: side == .right ? parent : nil, in: &ends)
    let first = slots.lowerBound
    ListSpines.add(first..<first + 1, to: side == .left ? parent : nil, in: &starts)
    if slots.count > 1 { starts.insert(first + 1..<slots.upperBound, after: nil, visible: true) }
  }

  private static func add(_ way: Range<UInt32>, to parent: UInt32?, in rope: inout Rope) {
    let last = way.upperBound - 1
    if let parent { rope.setVisible(parent..<parent + 1, false) }
    rope.insert(way.lowerBound..<last, after: parent, visible: false)
    rope.insert(last..<last + 1, after: way.count > 1 ? last - 1 : parent, visible: true)
  }

  /// Forgets a node of a subtree that goes as a whole. One that is not committed is not here.
  mutating func remove(_ slot: UInt32) {
    guard ends.contains(slot) else { return }
    ends.remove(slot)
    starts.remove(slot)
  }

  /// For a tree that was there before: all nodes of it, way by way from their tops, those on the
  /// right and those on the left.
  mutating func append(_ slot: UInt32, _ side: ListEdit.Side, isEnd: Bool) {
    if side == .right {
      ends.insert(slot..<slot + 1, after: ends.last, visible: isEnd)
    } else {
      starts.insert(slot..<slot + 1, after: starts.last, visible: isEnd)
    }
  }
}
