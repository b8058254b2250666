import CairnBytes

/// Local edits: they show at once, and can be taken back until they are committed. Indexes must be
/// good ones; who calls checks them.
extension ListState {
  /// Edits that are not committed yet. New items, and new places of items, are the slots from
  /// `committed` on; they are in the order and nowhere else.
  ///
  /// It stays with the list when there are none, with its memory: whoever types commits again and
  /// again.
  struct Pending {
    /// Whether there are any.
    var isActive = false
    var committed: UInt32 = 0
    var heapCount = 0
    var bytes = 0
    /// Committed items that were deleted or replaced, with what they were.
    var touched = SlotMap<Cell>()
    /// Committed items that were moved, with their new places.
    var moved = SlotMap<UInt32>()
    /// The new slots in the order of the list, once they were collected.
    var order: [UInt32] = []
    /// The caller's number for these edits.
    var number = 0

    private static let orderKept = 1024

    mutating func end() {
      isActive = false
      number = 0
      if !touched.isEmpty { touched.removeAll() }
      if !moved.isEmpty { moved.removeAll() }
      if order.isEmpty { return }
      if order.count > Pending.orderKept { order = [] } else { order.clear() }
    }
  }

  /// How many items there are, and what the caller calls the pending edits; nil if there are none.
  ///
  /// Mutating, as what follows, though nothing changes: a list is asked where it lies, and would
  /// otherwise be copied for each question.
  package mutating func standing() -> (count: Int, pendingNumber: Int?) {
    (rope.visibleCount, pending.isActive ? pending.number : nil)
  }

  /// Gives the pending edits a number, if it is not nil and there are any. Returns what they are
  /// called then, and the delta that the list began with.
  package mutating func call(_ number: Int?) -> (pendingNumber: Int?, root: Dot) {
    if let number, pending.isActive { pending.number = number }
    return (pending.isActive ? pending.number : nil, firstRoot)
  }

  package var hasPending: Bool { pending.isActive }

  private mutating func begin() {
    if pending.isActive { return }
    pending.isActive = true
    pending.committed = UInt32(items.count)
    pending.heapCount = items.heap.count
    pending.bytes = bytes
  }

  private func isNew(_ slot: UInt32) -> Bool { pending.isActive && slot >= pending.committed }

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
      if node != item { pending.moved[item] = nil }
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
      pending.moved[item] = node
    }
    rope.insert(node..<node + 1, after: left(of: target), visible: true)
  }

  private mutating func touch(_ item: UInt32) {
    if !pending.touched.contains(item) { pending.touched[item] = items.cell(Int(item)) }
  }

  /// Whether a pending edit decides an item's value, whatever others had made of it.
  func isTouched(_ item: UInt32) -> Bool { pending.touched.contains(item) }

  /// Takes back everything that is pending.
  package mutating func rollBack() {
    if !pending.isActive { return }
    for slot in pending.committed..<UInt32(items.count) where rope.contains(slot) {
      rope.remove(slot)
    }
    restoreTouched()
    items.truncate(to: Int(pending.committed), heap: pending.heapCount)
    bytes = pending.bytes
    pending.end()
  }

  mutating func restoreTouched() {
    for index in 0..<pending.touched.count {
      let item = pending.touched.slots[index]
      items.set(Int(item), pending.touched.values[index])
      showAgain(item)
    }
    for index in 0..<pending.moved.count { showAgain(pending.moved.slots[index]) }
  }

  private mutating func showAgain(_ item: UInt32) {
    if let node = currentNode(item) { rope.setVisible(node..<node + 1, true) }
  }
}
