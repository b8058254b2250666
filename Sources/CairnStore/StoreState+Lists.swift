import CairnMerge

/// Local edits of lists: everything is checked before anything changes.
extension StoreState {
  /// What an edit changes in sizes.
  fileprivate struct Effect {
    var growth = 0
    /// In the pending delta: 20 and the value's size for each item that is put in, taken out,
    /// replaced or moved.
    var pending = 0
  }

  /// What the limits leave, known before the list is at hand: it is looked up only once.
  private struct Room {
    var record: Int
    var total: Int
    var pending: Int

    func fits(_ effect: Effect) -> Bool {
      (effect.growth <= 0 || effect.growth <= record && effect.growth <= total)
        && (effect.pending <= 0 || effect.pending <= pending)
    }
  }

  private enum Outcome {
    case badIndex(Int, count: Int)
    case noRoom(Effect)
    case tooLong
    /// `number`: of the list among those with pending edits; nil for one that nobody has seen yet.
    /// `sizeBefore` is only known where several values compete.
    case done(Effect, root: Dot, number: Int?, sizeBefore: Int?)
  }

  mutating func edit(
    _ number: Int, _ id: RecordName, _ field: String, _ operation: ListOperation, limits: Limits
  ) throws(StoreError) {
    try requireWritable()
    let slot = try existingSlot(number, id)
    let column = try writableColumn(number, field)
    if tables[number].columns[column].tag(slot) != CellTag.editedList,
      try openList(number, slot, column, field)
    {
      try createList(number, slot, column, id, operation, limits)
      return
    }
    let outcome = perform(operation, number, slot, column, limits)
    switch outcome {
    case .badIndex(let index, let count):
      throw badIndex(index, count: count, number, id, field)
    case .noRoom(let effect): try check(limits, number, id, slot, effect)
    case .tooLong: throw tooLong(id, field)
    case .done(var effect, let root, let pendingNumber, let sizeBefore):
      if let pendingNumber {
        // The record's own 100 stays when something else takes the list's place.
        let changeSize = tables[number].pendingMarks[slot] == 0 ? Sizes.change : 0
        if pendingNumber == tables[number].pendingLists.count {
          tables[number].addPendingList(ListKey(slot: slot, column: column, root: root))
        }
        tables[number].pendingLists[pendingNumber].size += effect.pending - changeSize
      }
      if let sizeBefore {
        // What shows may be another list by now, if the rule goes by what is greater.
        let shown = tables[number].showAgain(slot, column, &ground)
        effect.growth = shown - Sizes.field - sizeBefore
      }
      finish(number, slot, size: effect.growth, records: 0, changeSize: effect.pending)
    }
  }

  /// Makes the edit on the list of a cell that says `editedList`, unless something is against it.
  private mutating func perform(
    _ operation: ListOperation, _ number: Int, _ slot: Int, _ column: Int, _ limits: Limits
  ) -> Outcome {
    let rule = tables[number].columns[column].rule
    let isNew = tables[number].isPending(slot, column)
    let changeSize = tables[number].pendingMarks[slot] == 0 ? Sizes.change : 0
    let next = tables[number].pendingLists.count
    // After a snapshot of others that counted too few, the size may be below zero.
    let (left, isEndless) = limits.datastoreBytes.subtractingReportingOverflow(totals.size)
    let room = Room(
      record: limits.recordBytes - Int(tables[number].sizes[slot]),
      total: isEndless ? .max : left,
      pending: limits.deltaBytes - Sizes.delta - pendingSize)
    // Set from inside: handed out by one closure after the other it would be copied by each.
    var outcome = Outcome.badIndex(0, count: 0)
    tables[number].withShownList(slot, column) { list, isContested in
      let (count, known) = list.standing()
      if let index = operation.badIndex(count) {
        outcome = .badIndex(index, count: count)
        return
      }
      var effect = list.effect(of: operation, rule)
      // A list that nobody has seen yet counts with what it holds.
      if isNew { effect.pending = effect.growth }
      let pendingNumber = isNew ? nil : known
      if !isNew, pendingNumber == nil { effect.pending += Sizes.field }
      effect.pending += changeSize
      guard room.fits(effect) else {
        outcome = .noRoom(effect)
        return
      }
      let nodes = operation.nodes
      if nodes > 0 || effect.growth > 0,
        list.isTooLong(growing: effect.growth, nodes: nodes, rule, limits)
      {
        outcome = .tooLong
        return
      }
      let sizeBefore = isContested && !isNew ? list.size(rule) : nil
      list.perform(operation)
      let (number, root) = list.call(isNew ? nil : pendingNumber ?? next)
      // Moving an item to where it is leaves nothing pending.
      if number == nil, !isNew { effect.pending = changeSize }
      outcome = .done(effect, root: root, number: isNew ? nil : number, sizeBefore: sizeBefore)
    }
    return outcome
  }

  /// The first edit of an absent field, which makes the list.
  private mutating func createList(
    _ number: Int, _ slot: Int, _ column: Int, _ id: RecordName, _ operation: ListOperation,
    _ limits: Limits
  ) throws(StoreError) {
    var list = ListState(plain: [], isCreated: true)
    if let index = operation.badIndex(0) {
      throw badIndex(index, count: 0, number, id, tables[number].fieldNames[column])
    }
    let rule = tables[number].columns[column].rule
    var effect = list.effect(of: operation, rule)
    let isTooLong = list.isTooLong(
      growing: effect.growth, nodes: operation.nodes, rule, limits)
    effect.growth += Sizes.field
    // What is put takes the place of a removal, and ends the edits of a list that is hidden.
    effect.pending = try effect.growth - sizeNow(number, slot, column).pending
    if tables[number].pendingMarks[slot] == 0 { effect.pending += Sizes.change }
    try check(limits, number, id, slot, effect)
    if isTooLong { throw tooLong(id, tables[number].fieldNames[column]) }
    _ = tables[number].pend(slot)
    list.perform(operation)
    tables[number].createList(slot, column, list)
    finish(number, slot, size: effect.growth, records: 0, changeSize: effect.pending)
  }

  func tooLong(_ id: RecordName, _ field: String) -> StoreError {
    StoreError(
      .sizeLimit,
      "the list in field \(field) of record \(id.text) can't grow: no list holds more than "
        + "16 MiB, or 16 million items over its whole life; begin a new one", id: field)
  }

  private func badIndex(
    _ index: Int, count: Int, _ number: Int, _ id: RecordName, _ field: String
  ) -> StoreError {
    StoreError(
      .badIndex,
      "index \(index) is not in the list of \(count) items in field \(field) of record "
        + "\(id.text) of table \(tables[number].name)", id: field)
  }

  private func check(
    _ limits: Limits, _ number: Int, _ id: RecordName, _ slot: Int, _ effect: Effect
  ) throws(StoreError) {
    try check(
      limits, number, id, recordSize: Int(tables[number].sizes[slot]) + effect.growth,
      growth: effect.growth, pendingGrowth: effect.pending)
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
}

extension ListOperation {
  /// An index that is not inside a list of so many items, nil if all are.
  fileprivate func badIndex(_ count: Int) -> Int? {
    switch self {
    case .insert(_, let index), .insertAll(_, let index):
      index < 0 || index > count ? index : nil
    case .append: nil
    case .removeLast: count == 0 ? -1 : nil
    case .remove(let index), .replace(let index, _):
      index < 0 || index >= count ? index : nil
    case .move(let from, let to):
      from < 0 || from >= count ? from : to < 0 || to >= count ? to : nil
    }
  }
}

extension ListState {
  /// What an operation changes whose indexes are inside the list.
  fileprivate mutating func effect(
    of operation: ListOperation, _ rule: Rule
  ) -> StoreState.Effect {
    switch operation {
    case .insert(let value, _), .append(let value):
      let size = Sizes.listItem + value.size
      return StoreState.Effect(growth: size, pending: size)
    case .insertAll(let values, _):
      let size = values.reduce(0) { $0 + Sizes.listItem + $1.size }
      return StoreState.Effect(growth: size, pending: size)
    case .remove(let index):
      let size = Sizes.listItem + size(at: index, rule)
      return StoreState.Effect(growth: -size, pending: Sizes.listItem)
    case .removeLast: return effect(of: .remove(at: count - 1), rule)
    case .replace(let index, let value):
      return StoreState.Effect(
        growth: value.size - size(at: index, rule), pending: Sizes.listItem + value.size)
    case .move: return StoreState.Effect(growth: 0, pending: Sizes.listItem)
    }
  }

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
