/// Local edits: they show at once, and can be taken back until they are committed. Indexes must be
/// good ones; who calls checks them.
extension ListState {
  /// Edits that are not committed yet. New items, and new places of items, are the slots from
  /// `committed` on; they are in the order and nowhere else.
  struct Pending {
    var committed: UInt32
    var heapCount: Int
    var bytes: Int
    /// Committed items that were deleted or replaced, with what they were.
    var touched: [UInt32: Cell] = [:]
    /// Committed items that were moved, with their new places.
    var moved: [UInt32: UInt32] = [:]
    /// The new slots in the order of the list, once they were collected.
    var order: [UInt32] = []
    /// The caller's number for these edits.
    var number = 0
  }

  /// What the caller calls the pending edits; nil if there are none.
  package var pendingNumber: Int? {
    get { pending?.number }
    set { if let newValue { pending?.number = newValue } }
  }

  package var hasPending: Bool { pending != nil }

  private mutating func begin() {
    if pending != nil { return }
    pending = Pending(
      committed: UInt32(items.count), heapCount: items.heap.count, bytes: bytes)
  }

  private func isNew(_ slot: UInt32) -> Bool {
    guard let pending else { return false }
    return slot >= pending.committed
  }

  /// The node after which something has to be put to be at an index.
  private mutating func left(of index: Int) -> UInt32 {
    index == 0 ? roots[0] : rope.slot(atVisible: index - 1)
  }

  package mutating func insert(_ value: FieldValue, at index: Int) {
    begin()
    let left = left(of: index)
    let slot = UInt32(items.count)
    items.append(value)
    bytes += items.size(Int(slot))
    rope.insert(slot..<slot + 1, after: left, visible: true)
  }

  package mutating func insert(_ values: some Collection<FieldValue>, at index: Int) {
    if values.isEmpty { return }
    begin()
    let left = left(of: index)
    let first = UInt32(items.count)
    for value in values {
      items.append(value)
      bytes += items.size(items.count - 1)
    }
    rope.insert(first..<UInt32(items.count), after: left, visible: true)
  }

  package mutating func remove(at index: Int) {
    begin()
    let node = rope.slot(atVisible: index)
    let item = item(of: node)
    bytes -= items.size(Int(item))
    if !isNew(item) { touch(item) }
    if isNew(node) {
      rope.remove(node)
      if node != item { pending?.moved[item] = nil }
    } else {
      rope.setVisible(node..<node + 1, false)
    }
    items.set(Int(item), Cell(tag: ListItems.none))
  }

  package mutating func replace(at index: Int, with value: FieldValue) {
    begin()
    let item = item(of: rope.slot(atVisible: index))
    bytes -= items.size(Int(item))
    if !isNew(item) { touch(item) }
    items.set(Int(item), Cell(value, heap: &items.heap))
    bytes += items.size(Int(item))
  }

  /// Takes an item out and puts it in again, so that it ends at `target`.
  package mutating func move(from source: Int, to target: Int) {
    if source == target { return }
    begin()
    var node = rope.slot(atVisible: source)
    if isNew(node) {
      rope.remove(node)
    } else {
      let item = item(of: node)
      rope.setVisible(node..<node + 1, false)
      node = UInt32(items.count)
      items.append(Cell(tag: ListItems.place, word: UInt64(item)))
      pending?.moved[item] = node
    }
    rope.insert(node..<node + 1, after: left(of: target), visible: true)
  }

  private mutating func touch(_ item: UInt32) {
    if pending?.touched[item] == nil { pending?.touched[item] = items.cell(Int(item)) }
  }

  /// Whether a pending edit decides an item's value, whatever others had made of it.
  func isTouched(_ item: UInt32) -> Bool { pending?.touched[item] != nil }

  /// Takes back everything that is pending.
  package mutating func rollBack() {
    guard let pending else { return }
    for slot in pending.committed..<UInt32(items.count) where rope.contains(slot) {
      rope.remove(slot)
    }
    restoreTouched(pending)
    items.truncate(to: Int(pending.committed), heap: pending.heapCount)
    bytes = pending.bytes
    self.pending = nil
  }

  private mutating func restoreTouched(_ pending: Pending) {
    for (item, cell) in pending.touched {
      items.set(Int(item), cell)
      showAgain(item)
    }
    for item in pending.moved.keys { showAgain(item) }
  }

  private mutating func showAgain(_ item: UInt32) {
    if let node = currentNode(item) { rope.setVisible(node..<node + 1, true) }
  }

  // MARK: commit

  /// The pending edits as one, nil if they make no difference. They stay pending.
  package mutating func collect() -> ListEdit? {
    dropNullMoves()
    guard let pending else { return nil }
    var edit = ListEdit()
    var order: [UInt32] = []
    for chain in newChains() {
      order += chain.nodes
      edit.chains.append(self.chain(chain, into: &edit.inserted))
    }
    self.pending?.order = order
    var deleted: [NodeID] = []
    for (item, before) in pending.touched {
      if items.tags[Int(item)] == ListItems.none {
        deleted.append(authors.id(of: item))
      } else if !items.equal(items.cell(Int(item)), before, of: items)
        || replaced[item]?.count ?? 0 > 1
      {
        edit.replaced.append(authors.id(of: item))
      }
    }
    edit.replaced.sort()
    for id in edit.replaced {
      if let item = slot(id) { edit.replacements.append(Int(item), of: items) }
    }
    for id in deleted.sorted() {
      if let last = edit.deleted.last, last.first.dot == id.dot,
        last.first.index + last.count == id.index
      {
        edit.deleted[edit.deleted.count - 1].count += 1
      } else {
        edit.deleted.append(ListEdit.Span(first: id, count: 1))
      }
    }
    return edit.isEmpty ? nil : edit
  }

  /// What was collected is committed under this stamp.
  package mutating func commit(_ edit: ListEdit, stamp: Stamp, context: VersionVector) {
    guard let pending else { return }
    let isInOrder =
      pending.order.count == items.count - Int(pending.committed)
      && zip(pending.order, pending.committed...).allSatisfy { $0 == $1 }
    if isInOrder {
      // Typing: the nodes are where they belong, with the numbers that they get.
      var size = pending.bytes
      for slot in pending.order where items.tags[Int(slot)] != ListItems.place {
        size += items.size(Int(slot))
      }
      restoreTouched(pending)
      bytes = size
      self.pending = nil
      apply(edit, stamp: stamp, context: context, isPlaced: true)
    } else {
      rollBack()
      apply(edit, stamp: stamp, context: context)
    }
  }

  /// An item that was moved has not moved if nothing to be seen lies between its old place and its
  /// new one. The moves are asked in their order, since of some either one may be dropped.
  mutating func dropNullMoves() {
    guard let pending, !pending.moved.isEmpty else { return }
    let moved = pending.moved.sorted { $0.value < $1.value }
    var hasDropped = true
    while hasDropped {
      hasDropped = false
      for (item, node) in moved where self.pending?.moved[item] != nil {
        guard let before = currentNode(item) else { continue }
        let distance = rope.visibleIndex(of: before) - rope.visibleIndex(of: node)
        // The new place itself counts if it comes first.
        guard distance == 0 || distance == 1 else { continue }
        rope.remove(node)
        rope.setVisible(before..<before + 1, true)
        self.pending?.moved[item] = nil
        hasDropped = true
      }
    }
  }

  private struct NewChain {
    /// The committed node before it.
    var left: UInt32
    var nodes: [UInt32]
  }

  /// New nodes as they lie between committed ones.
  private func newChains() -> [NewChain] {
    guard let pending else { return [] }
    let new = pending.committed..<UInt32(items.count)
    if new.count <= 16 { return newChains(few: new.filter(rope.contains)) }
    var chains: [NewChain] = []
    var left: UInt32 = 0
    var isOpen = false
    rope.forEachRun { slots, _ in
      let old = slots.clamped(to: 0..<pending.committed)
      if let last = old.last {
        left = last
        isOpen = false
      }
      let fresh = slots.clamped(to: new)
      if fresh.isEmpty { return }
      if !isOpen { chains.append(NewChain(left: left, nodes: [])) }
      isOpen = true
      chains[chains.count - 1].nodes += fresh
    }
    return chains
  }

  private func newChains(few slots: [UInt32]) -> [NewChain] {
    var chains: [NewChain] = []
    let placed = slots.map { (position: rope.position(of: $0), slot: $0) }
      .sorted { $0.position < $1.position }
    var last = -1
    for (position, slot) in placed {
      if position == last + 1, !chains.isEmpty {
        chains[chains.count - 1].nodes.append(slot)
      } else {
        chains.append(NewChain(left: rope.previous(slot) ?? roots[0], nodes: [slot]))
      }
      last = position
    }
    return chains
  }

  private func chain(_ new: NewChain, into inserted: inout ListItems) -> ListEdit.Chain {
    var parent = new.left
    var side = ListEdit.Side.right
    if hasRightChildren(new.left), let last = new.nodes.last, let right = rope.next(last) {
      parent = right
      side = .left
    }
    var chain = ListEdit.Chain(
      parent: authors.id(of: parent), side: side, count: UInt32(new.nodes.count))
    for (offset, node) in new.nodes.enumerated() {
      if items.tags[Int(node)] == ListItems.place {
        let item = authors.id(of: item(of: node))
        chain.moves.append(ListEdit.Move(offset: UInt32(offset), item: item))
      } else {
        inserted.append(Int(node), of: items)
      }
    }
    return chain
  }
}
