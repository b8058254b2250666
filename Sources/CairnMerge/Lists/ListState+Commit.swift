import CairnBytes

/// From pending edits to one of a delta, and to committed ones.
extension ListState {
  /// The pending edits as one, nil if they make no difference. They stay pending.
  package mutating func collect() -> ListEdit? {
    var edit = ListEdit()
    return collect(into: &edit) ? edit : nil
  }

  /// The same, in an edit that is emptied first. False if there is nothing to say.
  package mutating func collect(into edit: inout ListEdit) -> Bool {
    edit.removeAll()
    dropNullMoves()
    if !pending.isActive { return false }
    collectChains(into: &edit)
    collectTouched(into: &edit)
    return !edit.isEmpty
  }

  /// What was collected is committed under this stamp. `context` is what this device had seen.
  package mutating func commit(_ edit: ListEdit, stamp: Stamp, context: VersionVector) {
    if !pending.isActive { return }
    if edit.isNumberedOn {
      rollBack()
      apply(edit, stamp: stamp, context: context)
    } else if isInOrder, pending.moved.isEmpty, edit.replaced.isEmpty {
      settle(edit, stamp, context)
    } else if isInOrder {
      var size = pending.bytes
      for slot in pending.order where items.tags[Int(slot)] != ListItems.place {
        size += items.size(Int(slot))
      }
      restoreTouched()
      bytes = size
      pending.end()
      apply(edit, stamp: stamp, context: context, isPlaced: true)
    } else {
      rollBack()
      apply(edit, stamp: stamp, context: context)
    }
  }

  /// Whether the new nodes have the numbers that they get: as in typing.
  @inline(__always)
  private var isInOrder: Bool {
    if pending.order.count != items.count - Int(pending.committed) { return false }
    var slot = pending.committed
    for node in pending.order {
      if node != slot { return false }
      slot += 1
    }
    return true
  }

  /// Typing and deleting: everything shows as it will, only names are missing.
  private mutating func settle(_ edit: ListEdit, _ stamp: Stamp, _ context: VersionVector) {
    addNodes(of: edit, stamp: stamp, context, isPlaced: true)
    for index in 0..<pending.touched.count {
      let item = pending.touched.slots[index]
      if items.tags[Int(item)] == ListItems.none { forgetHistory(of: item) }
    }
    pending.end()
  }

  /// An item that was moved has not moved if nothing to be seen lies between its old place and its
  /// new one. The moves are asked in the order of the old places, since of some either one may be
  /// dropped.
  ///
  /// Once along the list and once back are enough. What lies between can make way only for a move
  /// in its own direction: a move towards the end waits for those of items before it, one towards
  /// the start for those of items behind it.
  mutating func dropNullMoves() {
    if pending.moved.isEmpty { return }
    var moved: [(place: Int, item: UInt32)] = []
    moved.reserveCapacity(pending.moved.count)
    for item in pending.moved.slots {
      if let before = currentNode(item) { moved.append((rope.position(of: before), item)) }
    }
    moved.sort { $0.place < $1.place }
    for (_, item) in moved { dropIfNull(item) }
    for (_, item) in moved.reversed() { dropIfNull(item) }
  }

  private mutating func dropIfNull(_ item: UInt32) {
    guard let node = pending.moved[item], let before = currentNode(item) else { return }
    let distance = rope.visibleIndex(of: before) - rope.visibleIndex(of: node)
    // The new place itself counts if it comes first.
    guard distance == 0 || distance == 1 else { return }
    rope.remove(node)
    rope.setVisible(before..<before + 1, true)
    pending.moved[item] = nil
  }

  // MARK: new nodes

  private mutating func collectChains(into edit: inout ListEdit) {
    pending.order.clear()
    let new = pending.committed..<UInt32(items.count)
    switch new.count {
    case 0: break
    case 1:
      guard rope.contains(new.lowerBound) else { break }
      pending.order.append(new.lowerBound)
      addChain(0..<1, into: &edit)
    case ...16: collectFew(new.filter(rope.contains), into: &edit)
    default: collectMany(new, into: &edit)
    }
  }

  /// By their positions.
  private mutating func collectFew(_ slots: [UInt32], into edit: inout ListEdit) {
    let placed = slots.map { (position: rope.position(of: $0), slot: $0) }
      .sorted { $0.position < $1.position }
    var first = 0
    for (index, (position, slot)) in placed.enumerated() {
      if index > 0, position != placed[index - 1].position + 1 {
        addChain(first..<index, into: &edit)
        first = index
      }
      pending.order.append(slot)
    }
    if first < placed.count { addChain(first..<placed.count, into: &edit) }
  }

  /// By a walk over the list.
  private mutating func collectMany(_ new: Range<UInt32>, into edit: inout ListEdit) {
    var order: [UInt32] = []
    var starts: [Int] = []
    var isOpen = false
    rope.forEachRun { slots, _ in
      if slots.lowerBound < new.lowerBound { isOpen = false }
      let fresh = slots.clamped(to: new)
      if fresh.isEmpty { return }
      if !isOpen { starts.append(order.count) }
      isOpen = true
      order += fresh
    }
    pending.order = order
    for (index, start) in starts.enumerated() {
      let end = index + 1 < starts.count ? starts[index + 1] : order.count
      addChain(start..<end, into: &edit)
    }
  }

  /// What new nodes that follow one another, from `first` to `last`, hang on, and on which side.
  mutating func hook(of first: UInt32, _ last: UInt32) -> (parent: UInt32, ListEdit.Side) {
    // The committed node before them.
    let left = rope.previous(first) ?? roots[0]
    if hasRightChildren(left), let right = rope.next(last) { return (right, .left) }
    return (left, .right)
  }

  /// Nodes that follow one another, by their places in the order of the new ones.
  private mutating func addChain(_ nodes: Range<Int>, into edit: inout ListEdit) {
    let (parent, side) = hook(
      of: pending.order[nodes.lowerBound], pending.order[nodes.upperBound - 1])
    var chain = ListEdit.Chain(
      parent: authors.id(of: parent), side: side, count: UInt32(nodes.count))
    for place in nodes {
      let node = pending.order[place]
      if items.tags[Int(node)] == ListItems.place {
        let item = authors.id(of: item(of: node))
        let offset = UInt32(place - nodes.lowerBound)
        chain.moves.append(ListEdit.Move(offset: offset, item: item))
      } else {
        edit.inserted.append(Int(node), of: items)
      }
    }
    edit.chains.append(chain)
  }

  // MARK: what was there

  private mutating func collectTouched(into edit: inout ListEdit) {
    for index in 0..<pending.touched.count {
      let item = pending.touched.slots[index]
      if items.tags[Int(item)] == ListItems.none {
        edit.deleted.append(ListEdit.Span(first: authors.id(of: item), count: 1))
      } else if contested.contains(item)
        || !items.equal(items.cell(Int(item)), pending.touched.values[index], of: items)
      {
        edit.replaced.append(authors.id(of: item))
      }
    }
    if edit.deleted.count > 1 { edit.deleted.joinNeighbours() }
    if edit.replaced.isEmpty { return }
    edit.replaced.sort()
    for id in edit.replaced {
      if let item = slot(id) { edit.replacements.append(Int(item), of: items) }
    }
  }
}

extension [ListEdit.Span] {
  /// Sorts spans, and makes one of those that follow one another.
  fileprivate mutating func joinNeighbours() {
    sort { $0.first < $1.first }
    var last = 0
    for index in indices.dropFirst() {
      let span = self[index]
      if self[last].first.dot == span.first.dot,
        self[last].first.index + self[last].count == span.first.index
      {
        self[last].count += span.count
      } else {
        last += 1
        self[last] = span
      }
    }
    removeSubrange((last + 1)...)
  }
}
