/// The tree whose walk is the order of the list.
extension ListState {
  static func key(_ parent: UInt32, _ side: ListEdit.Side) -> UInt32 {
    parent << 1 | UInt32(side.rawValue)
  }

  /// The children on one side, in commit order.
  func siblings(_ parent: UInt32, _ side: ListEdit.Side) -> [UInt32] {
    let key = ListState.key(parent, side)
    var result = children[key] ?? []
    guard side == .right, hasNextInChain(parent) else { return result }
    let stamp = authors.stamp(of: parent + 1)
    let index = result.firstIndex { stamp < authors.stamp(of: $0) } ?? result.endIndex
    result.insert(parent + 1, at: index)
    return result
  }

  /// Whether the next slot hangs to the right of this one.
  @inline(__always)
  func hasNextInChain(_ slot: UInt32) -> Bool {
    Int(slot) + 1 < parents.count && parents[Int(slot) + 1] == slot << 1
  }

  /// Whether anything hangs to the right of a node.
  @inline(__always)
  func hasRightChildren(_ slot: UInt32) -> Bool {
    // A text that is typed needs no look at the children.
    if slot == newest { return false }
    return hasNextInChain(slot) || children[ListState.key(slot, .right)] != nil
  }

  /// The nodes under a root in their order.
  func walk(_ root: UInt32, _ body: (UInt32) -> Void) {
    // What comes when the subtrees before it have.
    var stack: [(slot: UInt32, isOpened: Bool)] = [(root, false)]
    while let (slot, isOpened) = stack.popLast() {
      if isOpened {
        body(slot)
        continue
      }
      for child in siblings(slot, .right).reversed() { stack.append((child, false)) }
      stack.append((slot, true))
      for child in siblings(slot, .left).reversed() { stack.append((child, false)) }
    }
  }

  /// Whether the nodes are in the order of the walk. Joins and removals of roots go by that; of a
  /// list that was read from a file of others it has to be asked. Takes as long as reading it.
  package var isInTreeOrder: Bool {
    if isPlain { return true }
    var next = rope.first
    var isSame = true
    for root in roots {
      walk(root) { slot in
        isSame = isSame && next == slot
        if isSame { next = rope.next(slot) }
      }
    }
    return isSame && next == nil
  }

  /// Adds consecutive slots to the tree and to the order, the first as a child of a node, each
  /// other one to the right of the one before it. `isPlaced`: they are in the order already.
  mutating func attach(
    _ slots: Range<UInt32>, to parent: UInt32, _ side: ListEdit.Side, stamp: Stamp, isPlaced: Bool
  ) {
    let next = isPlaced && spines.isEmpty ? nil : sibling(behind: stamp, parent, side)
    let anchor = isPlaced ? nil : anchor(parent, side, before: next)
    let key = ListState.key(parent, side)
    if !spines.isEmpty {
      let isOutermost = side == .right ? next == nil : place(of: stamp, among: key) == 0
      spines[0].add(slots, to: isOutermost ? parent : nil, side)
    }
    if key != (slots.lowerBound &- 1) << 1 { insert(slots.lowerBound, stamp, among: key) }
    parents.append(key)
    for slot in slots.dropFirst() { parents.append((slot - 1) << 1) }
    newest = slots.upperBound - 1
    if !isPlaced { rope.insert(slots, after: anchor, visible: true) }
  }

  /// Where it lies: siblings that are copied with each new one take for ever.
  private mutating func insert(_ slot: UInt32, _ stamp: Stamp, among key: UInt32) {
    let index = place(of: stamp, among: key)
    children[key, default: []].insert(slot, at: index)
  }

  // MARK: roots

  /// Adds the root of a list that was put or created, with its items.
  mutating func addRoot(_ values: [FieldValue], stamp: Stamp) {
    let first = UInt32(items.count)
    authors.append(first: first, stamp)
    let index = roots.firstIndex { stamp < authors.stamp(of: $0) } ?? roots.endIndex
    let anchor = index < roots.count ? rope.previous(roots[index]) : rope.last
    roots.insert(first, at: index)
    items.append(Cell(tag: ListItems.none))
    for value in values { items.append(value) }
    let end = UInt32(items.count)
    parents.append(ListState.rootParent)
    for slot in first + 1..<end + 1 where slot < end { parents.append((slot - 1) << 1) }
    if !spines.isEmpty { spines[0].add(first..<end, to: nil, .right) }
    rope.insert(first..<first + 1, after: anchor, visible: false)
    if end > first + 1 { rope.insert(first + 1..<end, after: first, visible: true) }
    bytes += (Int(first) + 1..<Int(end)).reduce(0) { $0 + items.size($1) }
  }

  package func hasRoot(_ dot: Dot) -> Bool {
    for root in roots where authors.stamp(of: root).dot == dot { return true }
    return false
  }

  /// The delta that it began with, the first of those that created it; a plain list has none.
  package var firstRoot: Dot {
    isPlain || roots.isEmpty ? Stamp.settled.dot : authors.stamp(of: roots[0]).dot
  }

  package var rootDots: [Dot] { roots.map { authors.stamp(of: $0).dot } }

  /// Forgets a root that was covered or deleted: its items, wherever they are now, and all places
  /// under it. Items of other roots that were moved there are nowhere.
  mutating func removeRoot(_ dot: Dot) {
    guard let index = roots.firstIndex(where: { authors.stamp(of: $0).dot == dot }) else { return }
    let root = roots[index]
    let end = index + 1 < roots.count ? roots[index + 1] : nil
    roots.remove(at: index)
    var region: [UInt32] = []
    var next: UInt32? = root
    while let node = next, node != end {
      region.append(node)
      next = rope.next(node)
    }
    for node in region where node != root && items.tags[Int(node)] != ListItems.place {
      kill(node)
    }
    for node in region {
      if rope.isVisible(node) { lose(node) }
      for side in [ListEdit.Side.left, .right] { children[ListState.key(node, side)] = nil }
      rope.remove(node)
      if !spines.isEmpty { spines[0].remove(node) }
    }
    for (item, survivors) in moves where survivors.contains(where: { !contains($0.node) }) {
      moves[item] = survivors.map { move in
        contains(move.node) ? move : Move(stamp: move.stamp, node: ListState.lost)
      }
    }
  }

  private func contains(_ node: UInt32) -> Bool { node != ListState.lost && rope.contains(node) }

  /// An item of another root loses the place that it had here.
  private mutating func lose(_ node: UInt32) {
    bytes -= items.size(Int(item(of: node)))
    rope.setVisible(node..<node + 1, false)
  }

  /// Deletes an item for good; its nodes stay.
  mutating func kill(_ item: UInt32) {
    guard isAlive(item) else { return }
    if let node = currentNode(item), rope.isVisible(node) {
      bytes -= items.size(Int(item))
      rope.setVisible(node..<node + 1, false)
    }
    items.set(Int(item), Cell(tag: ListItems.none))
    forgetHistory(of: item)
  }

  /// An item that was deleted was neither moved nor replaced any more.
  mutating func forgetHistory(of item: UInt32) {
    if !moves.isEmpty { moves[item] = nil }
    if !replaced.isEmpty { setReplaced(item, nil) }
  }
}
