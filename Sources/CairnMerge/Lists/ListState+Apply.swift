/// Edits that were committed: other devices', or our own.
extension ListState {
  /// Whether an edit has anything to do here: some node that it names is known.
  package func concerns(_ edit: ListEdit) -> Bool {
    edit.chains.contains { slot($0.parent) != nil || $0.moves.contains { slot($0.item) != nil } }
      || edit.deleted.contains(where: hasAny)
      || edit.replaced.contains { slot($0) != nil }
  }

  /// Whether some node of these is known: another list of the field may have others of that delta.
  private func hasAny(_ span: ListEdit.Span) -> Bool {
    slots(span).contains { rope.contains(UInt32($0)) }
  }

  /// The slots that the numbers of a span have here.
  private func slots(_ span: ListEdit.Span) -> Range<Int> {
    guard let batch = authors.batch(of: span.first.dot) else { return 0..<0 }
    let first = Int(authors.firsts[batch]) + Int(span.first.index)
    let end = batch + 1 < authors.firsts.count ? Int(authors.firsts[batch + 1]) : parents.count
    return first..<max(first, min(first + Int(span.count), end))
  }

  /// The slot of a node that is in the list, nil if its list is no more.
  @inline(__always)
  func slot(_ id: NodeID) -> UInt32? {
    guard let slot = authors.slot(of: id, count: items.count), rope.contains(slot) else {
      return nil
    }
    return slot
  }

  /// Applies an edit of somebody whose delta has this context. Nothing may be pending.
  package mutating func apply(_ edit: ListEdit, stamp: Stamp, context: VersionVector) {
    apply(edit, stamp: stamp, context: context, isPlaced: false)
  }

  /// `isPlaced`: the new nodes are in the order already, and their values here.
  mutating func apply(
    _ edit: ListEdit, stamp: Stamp, context: VersionVector, isPlaced: Bool
  ) {
    // A delta edits a list once; a second time its names would be there twice.
    if authors.batch(of: stamp.dot) != nil { return }
    addNodes(of: edit, stamp: stamp, context, isPlaced: isPlaced)
    for span in edit.deleted { delete(span) }
    for (index, id) in edit.replaced.enumerated() {
      guard let item = slot(id), isAlive(item) else { continue }
      replace(item, edit.replacements.value(index), stamp: stamp, context)
    }
  }

  mutating func addNodes(
    of edit: ListEdit, stamp: Stamp, _ context: VersionVector, isPlaced: Bool
  ) {
    if edit.chains.isEmpty { return }
    authors.append(first: UInt32(parents.count), stamp)
    var source = 0
    for chain in edit.chains {
      add(chain, values: edit.inserted, from: &source, stamp: stamp, context, isPlaced: isPlaced)
    }
  }

  private mutating func add(
    _ chain: ListEdit.Chain, values: ListItems, from source: inout Int, stamp: Stamp,
    _ context: VersionVector, isPlaced: Bool
  ) {
    let first = UInt32(parents.count)
    let slots = first..<first + chain.count
    if !isPlaced { addItems(chain, values, from: &source) }
    guard let parent = slot(chain.parent),
      chain.side == .right || parents[Int(parent)] != ListState.rootParent
    else {
      // The list that it was typed into is no more. Its numbers count, its nodes do not.
      for slot in slots {
        parents.append(ListState.rootParent)
        if items.tags[Int(slot)] != ListItems.place {
          items.set(Int(slot), Cell(tag: ListItems.none))
        }
      }
      for move in chain.moves { moveNowhere(move.item, stamp: stamp, context) }
      return
    }
    attach(slots, to: parent, chain.side, stamp: stamp, isPlaced: isPlaced)
    if !isPlaced {
      for slot in slots where items.tags[Int(slot)] != ListItems.place {
        bytes += items.size(Int(slot))
      }
    }
    for move in chain.moves {
      let node = first + move.offset
      guard let item = slot(move.item), isAlive(item) else {
        if rope.isVisible(node) { rope.setVisible(node..<node + 1, false) }
        continue
      }
      items.set(Int(node), Cell(tag: ListItems.place, word: UInt64(item)))
      place(item, at: node, stamp: stamp, context)
    }
  }

  private mutating func addItems(
    _ chain: ListEdit.Chain, _ values: ListItems, from source: inout Int
  ) {
    var moved = chain.moves.makeIterator()
    var next = moved.next()
    for offset in 0..<chain.count {
      if next?.offset == offset {
        items.append(Cell(tag: ListItems.place))
        next = moved.next()
      } else {
        items.append(source, of: values)
        source += 1
      }
    }
  }

  /// A move that is here competes with those that its author had not seen.
  private mutating func place(
    _ item: UInt32, at node: UInt32, stamp: Stamp, _ context: VersionVector
  ) {
    let before = currentNode(item)
    note(item, Move(stamp: stamp, node: node), context)
    let after = currentNode(item)
    show(item, before: before, after: after)
    if after != node, rope.isVisible(node) { rope.setVisible(node..<node + 1, false) }
  }

  private mutating func moveNowhere(_ id: NodeID, stamp: Stamp, _ context: VersionVector) {
    guard let item = slot(id), isAlive(item) else { return }
    let before = currentNode(item)
    note(item, Move(stamp: stamp, node: ListState.lost), context)
    show(item, before: before, after: currentNode(item))
  }

  private mutating func note(_ item: UInt32, _ move: Move, _ context: VersionVector) {
    var survivors = moves[item] ?? []
    survivors.removeAll { context.contains($0.stamp.dot) }
    let index = survivors.firstIndex { move.stamp < $0.stamp } ?? survivors.endIndex
    survivors.insert(move, at: index)
    moves[item] = survivors
  }

  private mutating func show(_ item: UInt32, before: UInt32?, after: UInt32?) {
    if before == after { return }
    if let before, rope.contains(before) { rope.setVisible(before..<before + 1, false) }
    if let after { rope.setVisible(after..<after + 1, true) }
    if before == nil { bytes += items.size(Int(item)) }
    if after == nil { bytes -= items.size(Int(item)) }
  }

  private mutating func delete(_ span: ListEdit.Span) {
    for slot in slots(span) where rope.contains(UInt32(slot)) { kill(UInt32(slot)) }
  }

  private mutating func replace(
    _ item: UInt32, _ value: FieldValue, stamp: Stamp, _ context: VersionVector
  ) {
    var survivors = replaced[item] ?? []
    survivors.removeAll { context.contains($0.stamp.dot) }
    let index = survivors.firstIndex { stamp < $0.stamp } ?? survivors.endIndex
    survivors.insert(Replaced(stamp: stamp, value: value), at: index)
    setReplaced(item, survivors)
    let isShown = currentNode(item).map(rope.isVisible) ?? false
    if isShown { bytes -= items.size(Int(item)) }
    let first = survivors[0].value
    items.set(Int(item), Cell(first, heap: &items.heap))
    if isShown { bytes += items.size(Int(item)) }
  }
}
