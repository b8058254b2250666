import CairnBytes

/// Where a new node comes in the order of the list.
extension ListState {
  /// So many steps for each node, and so many beside, are taken through the tree before the list
  /// gets spines. What is typed together hardly takes any.
  private static let stepsOfNode = 4
  private static let stepsBeside = 1 << 12

  /// The node after which a new child comes in the list; nil if it comes first of all.
  ///
  /// Children of a node on one side are concurrent to one another (or came with a list that went
  /// behind another one, as a whole), so commit order decides between their subtrees. The order of
  /// what is there is that of the tree: it tells what is before a subtree, or at its end.
  mutating func anchor(
    _ parent: UInt32, _ side: ListEdit.Side, before next: UInt32?
  ) -> UInt32? {
    if next == nil, side == .left { return rope.previous(parent) }
    if next == nil, !hasRightChildren(parent) { return parent }
    if spines.isEmpty, walked > ListState.stepsOfNode * parents.count + ListState.stepsBeside {
      makeSpines()
    }
    guard let next else { return lastOfSubtree(parent) }
    return rope.previous(firstOfSubtree(next))
  }

  /// The first child on one side that comes behind one with this stamp.
  func sibling(behind stamp: Stamp, _ parent: UInt32, _ side: ListEdit.Side) -> UInt32? {
    if side == .right, !hasRightChildren(parent) { return nil }
    var next: UInt32?
    if let siblings = children[ListState.key(parent, side)] {
      let index = place(of: stamp, among: siblings)
      if index < siblings.count { next = siblings[index] }
    }
    guard side == .right, hasNextInChain(parent) else { return next }
    let chain = authors.stamp(of: parent + 1)
    guard stamp < chain else { return next }
    if let next, authors.stamp(of: next) <= chain { return next }
    return parent + 1
  }

  /// Where a child with this stamp comes among those that are noted under a key.
  func place(of stamp: Stamp, among key: UInt32) -> Int {
    children[key].map { place(of: stamp, among: $0) } ?? 0
  }

  private func place(of stamp: Stamp, among siblings: [UInt32]) -> Int {
    if siblings.count == 1 { return stamp < authors.stamp(of: siblings[0]) ? 0 : 1 }
    return siblings.partitionPoint { stamp < authors.stamp(of: $0) }
  }

  private mutating func lastOfSubtree(_ slot: UInt32) -> UInt32 {
    if !spines.isEmpty { return spines[0].end(of: slot) }
    var last = slot
    while let child = lastRightChild(last) {
      last = child
      walked += 1
    }
    return last
  }

  private mutating func firstOfSubtree(_ slot: UInt32) -> UInt32 {
    if !spines.isEmpty { return spines[0].start(of: slot) }
    var first = slot
    while let child = firstLeftChild(first) {
      first = child
      walked += 1
    }
    return first
  }

  private func lastRightChild(_ slot: UInt32) -> UInt32? {
    let chain = hasNextInChain(slot) ? slot + 1 : nil
    guard let last = children[ListState.key(slot, .right)]?.last else { return chain }
    guard let chain, authors.stamp(of: last) <= authors.stamp(of: chain) else { return last }
    return chain
  }

  private func firstLeftChild(_ slot: UInt32) -> UInt32? {
    children[ListState.key(slot, .left)]?.first
  }

  /// From here on no way through the tree is walked. Takes as long as a walk over the list.
  mutating func makeSpines() {
    var made = ListSpines()
    rope.forEachRun { slots, _ in
      for slot in slots {
        let (key, parent) = (parents[Int(slot)], parents[Int(slot)] >> 1)
        let isRoot = key == ListState.rootParent
        if isRoot || key & 1 == 1 || lastRightChild(parent) != slot {
          add(slot, .right, to: &made) { lastRightChild($0) }
        }
        if isRoot || key & 1 == 0 || firstLeftChild(parent) != slot {
          add(slot, .left, to: &made) { firstLeftChild($0) }
        }
      }
    }
    spines = [made]
  }

  private func add(
    _ top: UInt32, _ side: ListEdit.Side, to spines: inout ListSpines,
    _ next: (UInt32) -> UInt32?
  ) {
    var node = top
    while let child = next(node) {
      spines.append(node, side, isEnd: false)
      node = child
    }
    spines.append(node, side, isEnd: true)
  }
}
