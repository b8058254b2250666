import CairnMerge

/// Local edits of lists: everything is checked before anything changes.
extension StoreState {
  /// What an edit changes in sizes.
  private struct Effect {
    var growth = 0
    /// In the pending delta: 20 and the value's size for each item that is put in, taken out,
    /// replaced or moved.
    var pending = 0
  }

  mutating func edit(
    _ number: Int, _ id: RecordName, _ field: String, _ operation: ListOperation, limits: Limits
  ) throws(StoreError) {
    let slot = try existingSlot(number, id)
    let column = try writableColumn(number, field)
    var isAbsent = false
    if tables[number].columns[column].tag(slot) != CellTag.editedList {
      isAbsent = try openList(number, slot, column, field)
    }
    let count =
      isAbsent ? 0 : tables[number].withList(slot, column) { $0.count } ?? 0
    let operation = try resolved(operation, count, number, id, field)
    var effect = effect(of: operation, number, slot, column)
    let key = tables[number].listKey(slot, column)
    let isNew = isAbsent || tables[number].isPending(slot, column)
    if isAbsent { effect.growth += Sizes.field }
    if isAbsent || !isNew && tables[number].pendingLists[key] == nil {
      effect.pending += Sizes.field
    }
    // A list that nobody has seen yet counts with what it holds.
    if isNew { effect.pending = max(effect.growth, isAbsent ? Sizes.field : effect.growth) }
    if tables[number].pendingMarks[slot] == 0 { effect.pending += Sizes.change }
    try check(
      limits, number, id, recordSize: Int(tables[number].sizes[slot]) + effect.growth,
      growth: effect.growth, pendingGrowth: effect.pending)
    _ = tables[number].pend(slot)
    if isAbsent { tables[number].createList(slot, column) }
    let before = tables[number].listSize(slot, column)
    tables[number].withList(slot, column) { $0.perform(operation) }
    if !isNew {
      tables[number].pendingLists[key, default: 0] += effect.pending
      if tables[number].isContested(slot, column) {
        // What shows may be another list by now, if the rule goes by what is greater.
        let shown = tables[number].showAgain(slot, column, &ground)
        effect.growth = shown - Sizes.field - before
      }
    }
    finish(number, slot, size: effect.growth, records: 0, changeSize: effect.pending)
  }

  /// Makes the field's list ready to be edited. Returns true if there is none yet.
  private mutating func openList(
    _ number: Int, _ slot: Int, _ column: Int, _ field: String
  ) throws(StoreError) -> Bool {
    let view = try tables[number].view(.slot(slot), column, &ground)
    guard CellTag.isValue(view.cell.tag) else { return true }
    guard CellTag.isList(view.cell.tag) else {
      throw StoreError(
        .badType,
        "field \(field) of record \(tables[number].ids[slot].text) holds no list; remove the field "
          + "first", id: field)
    }
    try tables[number].openList(slot, column, view, isAlone: isAlone, &ground, rules)
    return false
  }

  /// The operation with a plain index that is inside the list.
  private func resolved(
    _ operation: ListOperation, _ count: Int, _ number: Int, _ id: RecordName, _ field: String
  ) throws(StoreError) -> ListOperation {
    let highest: Int
    let indexes: [Int]
    var result = operation
    switch operation {
    case .insert(_, let index), .insertAll(_, let index): (highest, indexes) = (count, [index])
    case .append(let value): return .insert(value, at: count)
    case .removeLast:
      result = .remove(at: count - 1)
      (highest, indexes) = (count - 1, [count - 1])
    case .remove(let index), .replace(let index, _): (highest, indexes) = (count - 1, [index])
    case .move(let from, let to): (highest, indexes) = (count - 1, [from, to])
    }
    for index in indexes where index < 0 || index > highest {
      throw StoreError(
        .badIndex,
        "index \(index) is not in the list of \(count) items in field \(field) of record "
          + "\(id.text) of table \(tables[number].name)", id: field)
    }
    return result
  }

  private mutating func effect(
    of operation: ListOperation, _ number: Int, _ slot: Int, _ column: Int
  ) -> Effect {
    let rule = tables[number].columns[column].rule
    func size(at index: Int) -> Int {
      tables[number].withList(slot, column) { $0.value(at: index, rule).size } ?? 0
    }
    switch operation {
    case .insert(let value, _):
      let size = Sizes.listItem + value.size
      return Effect(growth: size, pending: size)
    case .insertAll(let values, _):
      let size = values.reduce(0) { $0 + Sizes.listItem + $1.size }
      return Effect(growth: size, pending: size)
    case .append, .removeLast: return Effect()
    case .remove(let index):
      let size = Sizes.listItem + size(at: index)
      return Effect(growth: -size, pending: Sizes.listItem)
    case .replace(let index, let value):
      return Effect(
        growth: value.size - size(at: index), pending: Sizes.listItem + value.size)
    case .move: return Effect(growth: 0, pending: Sizes.listItem)
    }
  }
}

extension ListState {
  /// An operation whose indexes are inside the list.
  fileprivate mutating func perform(_ operation: ListOperation) {
    switch operation {
    case .insert(let value, let index): insert(value, at: index)
    case .insertAll(let values, let index): insert(values, at: index)
    case .append(let value): insert(value, at: count)
    case .remove(let index): remove(at: index)
    case .removeLast: remove(at: count - 1)
    case .replace(let index, let value): replace(at: index, with: value)
    case .move(let source, let target): move(from: source, to: target)
    }
  }
}
