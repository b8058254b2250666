/// A sequence of *nodes* in an order, each visible or hidden, that knows the place of every node
/// and the node at every place: the order under a list of a record, where elements that were
/// deleted stay in the order as long as others may refer to them.
///
/// A node is a number, its *slot*. The caller gives slots out from 0 on without gaps; each is in
/// the rope at most once. Nodes whose slots are consecutive, that lie next to each other and are
/// equally visible are one *run* of 8 bytes, so that a text that was typed costs hardly more than
/// the map from slots to leaves, 4 bytes a slot. Runs lie in the leaves of a B+tree that counts
/// nodes and visible nodes (`RopeBlocks`).
///
/// All is O(log n) but the walks, which are O(what they pass), and a change that finds an array
/// full, which is copied to one twice as long. A value: copies are independent, and share memory
/// until one changes. A slot that isn't what the method asks for (not there, or there already) is a
/// mistake of the caller: slots are checked where operations come in.
package struct Rope: Sendable {
  var blocks = RopeBlocks()
  /// The leaf of each slot, `RopeBlocks.none` for one that is not in the rope.
  var leaves: ContiguousArray<UInt32> = []
  var total = RopeSum()
  var root: UInt32 = 0
  /// Branches between the root and a leaf; 0 if the root is a leaf.
  var height: UInt32 = 0
  var cursor = RopeCursor()

  /// A rope without nodes; allocates nothing.
  package init() {}

  /// Nodes, hidden ones included.
  package var count: Int { Int(total.nodes) }

  /// Nodes that are visible.
  package var visibleCount: Int { Int(total.visible) }

  /// Whether a node is in the rope. O(1).
  package func contains(_ slot: UInt32) -> Bool {
    Int(slot) < leaves.count && leaves[Int(slot)] != RopeBlocks.none
  }

  /// Whether a node of the rope is visible. O(1).
  package func isVisible(_ slot: UInt32) -> Bool {
    let place = find(slot)
    return blocks.run(place.leaf, place.run).isVisible
  }

  /// Where the run with a node of the rope is.
  @inline(__always)
  func find(_ slot: UInt32) -> RopePlace {
    let leaf = leaves[Int(slot)]
    if leaf == cursor.leaf {
      let run = Int(cursor.run)
      if run < blocks.count(leaf), blocks.run(leaf, run).contains(slot) {
        return RopePlace(leaf, run)
      }
    }
    var run = 0
    // It is there: the map says so.
    while !blocks.run(leaf, run).contains(slot) { run &+= 1 }
    return RopePlace(leaf, run)
  }

  /// Writes down that slots are in a leaf now.
  @inline(__always)
  mutating func assign(_ slots: Range<UInt32>, to leaf: UInt32) {
    let end = Int(slots.upperBound)
    if Int(slots.lowerBound) == leaves.count, slots.count == 1 {
      leaves.append(leaf)
      return
    }
    if end > leaves.count {
      leaves.append(contentsOf: repeatElement(RopeBlocks.none, count: end - leaves.count))
    }
    // A leaf that is split hands over thousands: a span is filled eight at a time.
    var places = leaves.mutableSpan
    for place in Int(slots.lowerBound)..<end { places[place] = leaf }
  }
}
