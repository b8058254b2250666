/// Two states of one list as one: that of all edits that are in either.
extension ListState {
  private struct Node {
    var parent: NodeID?
    var side: ListEdit.Side
  }

  /// Joins what two states know of a list whose roots are, by all that both have seen, `roots`.
  static func join(
    _ a: ListState, _ aSide: JoinSide, _ b: ListState, _ bSide: JoinSide, roots: Set<Dot>
  ) -> ListState {
    var nodes: [NodeID: Node] = [:]
    var stamps: [Dot: Stamp] = [:]
    for state in [a, b] { state.addNodes(under: roots, to: &nodes, &stamps) }
    var result = ListState(isCreated: a.isCreated, nodes, stamps)
    for id in nodes.keys.sorted() {
      guard let item = result.slot(id) else { continue }
      result.adopt(id, as: item, a, aSide, b, bSide)
    }
    result.markPlaces()
    for node in nodes.keys {
      guard let slot = result.slot(node), result.isAlive(slot) else { continue }
      result.showItem(slot)
    }
    return result
  }

  private func addNodes(
    under roots: Set<Dot>, to nodes: inout [NodeID: Node], _ stamps: inout [Dot: Stamp]
  ) {
    var isIn = false
    rope.forEachRun { slots, _ in
      for slot in slots {
        let key = parents[Int(slot)]
        let id = authors.id(of: slot)
        if self.roots.contains(slot) { isIn = roots.contains(id.dot) }
        guard isIn else { continue }
        stamps[id.dot] = authors.stamp(of: slot)
        let isRoot = key == ListState.rootParent
        nodes[id] = Node(
          parent: isRoot ? nil : authors.id(of: key >> 1), side: key & 1 == 0 ? .right : .left)
      }
    }
  }

  /// The tree of these nodes, with nothing visible yet.
  private init(isCreated: Bool, _ nodes: [NodeID: Node], _ stamps: [Dot: Stamp]) {
    self.init(isCreated: isCreated, rope: Rope(), parents: [], roots: [])
    var counts: [Dot: UInt32] = [:]
    for id in nodes.keys { counts[id.dot] = max(counts[id.dot] ?? 0, id.index + 1) }
    for dot in stamps.keys.sorted() {
      let count = counts[dot] ?? 0
      if let stamp = stamps[dot] { authors.append(first: UInt32(items.count), stamp) }
      for _ in 0..<count { items.append(Cell(tag: ListItems.none)) }
    }
    parents = [UInt32](repeating: ListState.rootParent, count: items.count)
    var slots: [NodeID: UInt32] = [:]
    for id in nodes.keys { slots[id] = authors.slot(of: id, count: items.count) }
    for (id, node) in nodes {
      guard let slot = slots[id] else { continue }
      if let parent = node.parent, let above = slots[parent] {
        parents[Int(slot)] = ListState.key(above, node.side)
      } else {
        roots.append(slot)
      }
    }
    roots.sort { authors.stamp(of: $0) < authors.stamp(of: $1) }
    fillChildren()
    var order: [UInt32] = []
    for root in roots { walk(root) { order.append($0) } }
    for slot in order { rope.insert(slot..<slot + 1, after: rope.last, visible: false) }
  }

  private mutating func adopt(
    _ id: NodeID, as item: UInt32, _ a: ListState, _ aSide: JoinSide, _ b: ListState,
    _ bSide: JoinSide
  ) {
    let inA = a.slot(id)
    let inB = b.slot(id)
    if let inA, !a.isAlive(inA) { return }
    if let inB, !b.isAlive(inB) { return }
    let moves = ListState.survivors(
      inA.map(a.namedMoves) ?? [], aSide, inB.map(b.namedMoves) ?? [], bSide, \.stamp)
    if !moves.isEmpty {
      self.moves[item] = moves.map { move in
        Move(stamp: move.stamp, node: move.node.flatMap(slot) ?? ListState.lost)
      }
    }
    let values = ListState.survivors(
      inA.flatMap { a.replaced[$0] } ?? [], aSide, inB.flatMap { b.replaced[$0] } ?? [], bSide,
      \.stamp)
    if let first = values.first {
      setReplaced(item, values)
      items.set(Int(item), Cell(first.value, heap: &items.heap))
    } else if let inA {
      items.set(Int(item), items.adopt(Int(inA), of: a.items))
    } else if let inB {
      items.set(Int(item), items.adopt(Int(inB), of: b.items))
    }
  }

  private struct NamedMove: Hashable {
    var stamp: Stamp
    var node: NodeID?
  }

  private func namedMoves(_ item: UInt32) -> [NamedMove] {
    (moves[item] ?? []).map { move in
      NamedMove(
        stamp: move.stamp, node: move.node == ListState.lost ? nil : authors.id(of: move.node))
    }
  }

  private static func survivors<T: Hashable>(
    _ a: [T], _ aSide: JoinSide, _ b: [T], _ bSide: JoinSide, _ stamp: (T) -> Stamp
  ) -> [T] {
    let (inA, inB) = (Set(a.map(stamp)), Set(b.map(stamp)))
    let stay =
      a.filter { inB.contains(stamp($0)) || !bSide.horizon.seen.contains(stamp($0).dot) }
      + b.filter { !inA.contains(stamp($0)) && !aSide.horizon.seen.contains(stamp($0).dot) }
    return stay.sorted { stamp($0) < stamp($1) }
  }

  private mutating func showItem(_ item: UInt32) {
    guard let node = currentNode(item) else { return }
    rope.setVisible(node..<node + 1, true)
    bytes += items.size(Int(item))
  }
}
