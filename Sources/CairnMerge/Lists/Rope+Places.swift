/// From places to nodes and back.
extension Rope {
  /// The visible node with so many visible ones before it; there must be one. O(log n), and O(1)
  /// in the neighbourhood of the last call.
  package mutating func slot(atVisible index: Int) -> UInt32 {
    let index = UInt32(index)
    if !isAtCursor(index) { cursor = leaf(atVisible: index) }
    var rest = index &- cursor.before
    var run = 0
    if rest >= cursor.beforeRun {
      rest &-= cursor.beforeRun
      run = Int(cursor.run)
    }
    while true {
      let candidate = blocks.run(cursor.leaf, run)
      let visible = candidate.visibleCount
      if rest < visible {
        cursor.run = UInt32(run)
        cursor.beforeRun = index &- cursor.before &- rest
        return candidate.first &+ rest
      }
      rest &-= visible
      run &+= 1
    }
  }

  /// Whether a visible node is in the cursor's leaf.
  @inline(__always)
  private func isAtCursor(_ index: UInt32) -> Bool {
    let leaf = cursor.leaf
    guard leaf != RopeBlocks.none, index >= cursor.before else { return false }
    let sum = height == 0 ? total : blocks.sum(blocks.parent(leaf), blocks.index(leaf))
    return index &- cursor.before < sum.visible
  }

  /// The leaf with a visible node, as a cursor at its start.
  func leaf(atVisible index: UInt32) -> RopeCursor {
    var block = root
    var rest = index
    for _ in 0..<height {
      var child = 0
      while true {
        let visible = blocks.sum(block, child).visible
        if rest < visible { break }
        rest &-= visible
        child &+= 1
      }
      block = blocks.child(block, child)
    }
    return RopeCursor(leaf: block, before: index &- rest)
  }

  /// How many visible nodes are before a node of the rope.
  package func visibleIndex(of slot: UInt32) -> Int { Int(sum(before: slot).visible) }

  /// How many nodes, hidden ones included, are before a node of the rope.
  package func position(of slot: UInt32) -> Int { Int(sum(before: slot).nodes) }

  private func sum(before slot: UInt32) -> RopeSum {
    let place = find(slot)
    var sum = blocks.run(place.leaf, place.run).prefix(upTo: slot).sum
    for run in 0..<place.run { sum &+= blocks.run(place.leaf, run).sum }
    var block = place.leaf
    for _ in 0..<height {
      let parent = blocks.parent(block)
      for child in 0..<blocks.index(block) { sum &+= blocks.sum(parent, child) }
      block = parent
    }
    return sum
  }

  /// The node behind a node of the rope, visible or not; nil behind the last. O(1).
  package func next(_ slot: UInt32) -> UInt32? {
    let place = find(slot)
    if slot + 1 < blocks.run(place.leaf, place.run).end { return slot + 1 }
    if place.run + 1 < blocks.count(place.leaf) {
      return blocks.run(place.leaf, place.run + 1).first
    }
    let leaf = blocks.next(place.leaf)
    return leaf == RopeBlocks.none ? nil : blocks.run(leaf, 0).first
  }

  /// The node before a node of the rope, visible or not; nil before the first. O(1).
  package func previous(_ slot: UInt32) -> UInt32? {
    let place = find(slot)
    if slot > blocks.run(place.leaf, place.run).first { return slot - 1 }
    if place.run > 0 { return blocks.run(place.leaf, place.run - 1).end - 1 }
    let leaf = blocks.previous(place.leaf)
    return leaf == RopeBlocks.none ? nil : blocks.run(leaf, blocks.count(leaf) - 1).end - 1
  }

  /// The first node, visible or not; nil if there is none.
  package var first: UInt32? { count == 0 ? nil : blocks.run(firstLeaf, 0).first }

  /// The last node, visible or not; nil if there is none.
  package var last: UInt32? {
    if count == 0 { return nil }
    let leaf = lastLeaf
    return blocks.run(leaf, blocks.count(leaf) - 1).end - 1
  }
}
