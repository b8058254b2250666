/// Lists that only this device edits: their deltas say positions, and nothing is remembered of
/// what is deleted.
extension ListState {
  /// The pending edits of a plain list, nil if they make no difference. They stay pending.
  package mutating func collectSplices() -> ListSplices? {
    var splices = ListSplices()
    return collect(into: &splices) ? splices : nil
  }

  /// The same, in splices that are emptied first. False if there is nothing to say.
  package mutating func collect(into splices: inout ListSplices) -> Bool {
    splices.removeAll()
    dropNullMoves()
    if !pending.isActive { return false }
    if let (node, isOld, isNow) = onlyChange() {
      splices.steps.append(
        ListSplices.Step(
          skipped: rope.visibleIndex(of: node), deleted: isOld ? 1 : 0, inserted: isNow ? 1 : 0))
      if isNow { splices.inserted.append(Int(node), of: items) }
      return true
    }
    // What was taken out so far less what was put in, and how far the steps reach in the old list.
    var balance = 0
    var passed = 0
    for (node, isOld, isNow) in changedNodes() {
      let index = rope.visibleIndex(of: node) + balance
      if splices.steps.isEmpty || index != passed {
        splices.steps.append(
          ListSplices.Step(skipped: index - passed, deleted: 0, inserted: 0))
        passed = index
      }
      let last = splices.steps.count - 1
      if isOld {
        splices.steps[last].deleted += 1
        passed += 1
        balance += 1
      }
      if isNow {
        splices.steps[last].inserted += 1
        splices.inserted.append(Int(item(of: node)), of: items)
        balance -= 1
      }
    }
    return !splices.isEmpty
  }

  /// A node that differs: whether it was an item before, and is one now.
  typealias ChangedNode = (UInt32, isOld: Bool, isNow: Bool)

  /// That of an item which was put in or taken out, if this is all: a keystroke.
  mutating func onlyChange() -> ChangedNode? {
    if !pending.moved.isEmpty { return nil }
    let new = items.count - Int(pending.committed)
    if new == 1, pending.touched.isEmpty, rope.contains(pending.committed) {
      return (pending.committed, isOld: false, isNow: true)
    }
    guard new == 0, pending.touched.count == 1 else { return nil }
    let item = pending.touched.slots[0]
    return items.tags[Int(item)] == ListItems.none ? (item, isOld: true, isNow: false) : nil
  }

  /// Nodes that differ, in the order of the list.
  private mutating func changedNodes() -> [ChangedNode] {
    var result: [ChangedNode] = []
    for slot in pending.committed..<UInt32(items.count) where rope.contains(slot) {
      result.append((slot, isOld: false, isNow: true))
    }
    for (item, before) in zip(pending.touched.slots, pending.touched.values) {
      let isGone = items.tags[Int(item)] == ListItems.none
      if isGone {
        result.append((item, isOld: true, isNow: false))
      } else if !pending.moved.contains(item),
        !items.equal(items.cell(Int(item)), before, of: items)
      {
        result.append((item, isOld: true, isNow: true))
      }
    }
    for item in pending.moved.slots where items.tags[Int(item)] != ListItems.none {
      result.append((item, isOld: true, isNow: false))
    }
    if result.count < 2 { return result }
    let placed = result.map { (position: rope.position(of: $0.0), change: $0) }
    return placed.sorted { $0.position < $1.position }.map(\.change)
  }

  /// What was pending in a plain list holds from now on.
  package mutating func commitPlain() {
    if !pending.isActive { return }
    for item in pending.touched.slots where items.tags[Int(item)] == ListItems.none {
      rope.remove(item)
    }
    for (item, node) in zip(pending.moved.slots, pending.moved.values) {
      items.set(Int(node), items.cell(Int(item)))
      items.set(Int(item), Cell(tag: ListItems.none))
      rope.remove(item)
    }
    pending.end()
    // What was deleted leaves its slots behind, what was replaced its text.
    if items.count > 2 * count + 1024 || items.heap.count > 2 * bytes + 65_536 {
      reset(to: values(.remote))
    }
  }

  /// Applies the steps of a delta to a plain list that is long enough for them.
  package mutating func apply(_ splices: ListSplices) {
    var index = 0
    var source = 0
    for step in splices.steps {
      index += step.skipped
      for _ in 0..<step.deleted { remove(at: index) }
      insert((source..<source + step.inserted).map(splices.inserted.value), at: index)
      source += step.inserted
      index += step.inserted
    }
    commitPlain()
  }
}
