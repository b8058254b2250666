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
  fileprivate struct Room {
    var record: Int
    var total: Int
    var pending: Int

    func fits(_ effect: Effect) -> Bool {
      (effect.growth <= 0 || effect.growth <= record && effect.growth <= total)
        && (effect.pending <= 0 || effect.pending <= pending)
    }
  }

  fileprivate enum Outcome {
    case badIndex(Int, count: Int)
    case noRoom(Effect)
    case tooLong
    /// `sizeBefore` is only known where several values compete.
    case done(Effect, sizeBefore: Int?)
  }

  mutating func edit(
    _ number: Int, _ id: RecordName, _ field: String, _ operation: ListOperation, limits: Limits
  ) throws(StoreError) {
    try requireWritable()
    // Whoever types edits a list that is open.
    if let (slot, column) = tables[number].slotOfOpenList(id, field, epoch: ground.epoch) {
      return try edit(number, slot, column, operation, limits)
    }
    let slot = try existingSlot(number, id)
    let column = try writableColumn(number, field)
    if tables[number].columns[column].tag(slot) != CellTag.editedList,
      try openList(number, slot, column, field)
    {
      return try createList(number, slot, column, id, operation, limits)
    }
    try edit(number, slot, column, operation, limits)
  }

  /// Makes the edit on the list of a cell that says `editedList`.
  private mutating func edit(
    _ number: Int, _ slot: Int, _ column: Int, _ operation: ListOperation, _ limits: Limits
  ) throws(StoreError) {
    // After a snapshot of others that counted too few, the size may be below zero.
    let (left, isEndless) = limits.datastoreBytes.subtractingReportingOverflow(totals.size)
    let room = Room(
      record: limits.recordBytes, total: isEndless ? .max : left,
      pending: limits.deltaBytes - Sizes.delta - pendingSize)
    let outcome = tables[number].perform(operation, slot, column, room, limits)
    try finish(outcome, number, slot, column, limits)
  }

  /// What comes of an edit, beyond the table.
  private mutating func finish(
    _ outcome: Outcome, _ number: Int, _ slot: Int, _ column: Int, _ limits: Limits
  ) throws(StoreError) {
    switch outcome {
    case .done(var effect, let sizeBefore):
      if let sizeBefore {
        // What shows may be another list by now, if the rule goes by what is greater.
        let shown = tables[number].showAgain(slot, column, &ground)
        effect.growth = shown - Sizes.field - sizeBefore
        tables[number].grow(slot, by: effect.growth)
      }
      count(number, slot, size: effect.growth, records: 0, changeSize: effect.pending)
    case .badIndex(let index, let count):
      throw badIndex(
        index, count: count, number, tables[number].ids[slot], tables[number].fieldNames[column])
    case .noRoom(let effect): try check(limits, number, tables[number].ids[slot], slot, effect)
    case .tooLong: throw tooLong(tables[number].ids[slot], tables[number].fieldNames[column])
    }
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

  func badIndex(
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

extension TableState {
  /// Where a record and a field are, if they are in the overlay and the field shows a list that is
  /// open. The slot is changed in this epoch, then.
  fileprivate mutating func slotOfOpenList(
    _ id: RecordName, _ field: String, epoch: UInt32
  ) -> (slot: Int, column: Int)? {
    guard let slot = findSlot(id), exists(slot), let column = findColumn(field),
      columns[column].tag(slot) == CellTag.editedList
    else { return nil }
    epochs[slot] = epoch
    return (slot, column)
  }

  /// Makes the edit on the list of a cell that says `editedList`, unless something is against it.
  fileprivate mutating func perform(
    _ operation: ListOperation, _ slot: Int, _ column: Int, _ room: StoreState.Room,
    _ limits: Limits
  ) -> StoreState.Outcome {
    guard let place = placeOfShown(slot, column) else { return .badIndex(0, count: 0) }
    var terms = EditTerms(
      room: room, rule: columns[column].rule, isNew: isPending(slot, column),
      isContested: place.isContested, changeSize: pendingMarks[slot] == 0 ? Sizes.change : 0,
      next: pendingLists.count)
    terms.room.record -= Int(sizes[slot])
    var pending: (pendingNumber: Int?, root: Dot) = (nil, Stamp.settled.dot)
    let outcome = withList(at: place) { $0.edit(operation, terms, limits, &pending) }
    if case .done(let effect, let sizeBefore) = outcome {
      noteEdit(
        slot, column, pending.pendingNumber, root: pending.root, size: effect.pending,
        changeSize: terms.changeSize)
      if sizeBefore == nil { grow(slot, by: effect.growth) }
    }
    return outcome
  }
}

/// What an edit of a list has to know of what is around the list.
private struct EditTerms {
  var room: StoreState.Room
  var rule: Rule
  /// Nobody has seen the list yet.
  var isNew: Bool
  /// Other values compete with it.
  var isContested: Bool
  /// What the record will count with in the pending delta if nothing of it is pending yet.
  var changeSize: Int
  /// The number that the list gets among those with pending edits, if it is none of them.
  var next: Int
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
  /// Makes an edit, unless something is against it. `pending` is set to the number of the list
  /// among those with pending edits, and to the delta that it began with; not of a list that nobody
  /// has seen yet.
  fileprivate mutating func edit(
    _ operation: ListOperation, _ terms: EditTerms, _ limits: Limits,
    _ pending: inout (pendingNumber: Int?, root: Dot)
  ) -> StoreState.Outcome {
    let (count, known) = standing()
    if let index = operation.badIndex(count) { return .badIndex(index, count: count) }
    var effect = effect(of: operation, terms.rule)
    let isNew = terms.isNew
    // A list that nobody has seen yet counts with what it holds.
    if isNew { effect.pending = effect.growth }
    let pendingNumber = isNew ? nil : known
    if !isNew, pendingNumber == nil { effect.pending += Sizes.field }
    effect.pending += terms.changeSize
    guard terms.room.fits(effect) else { return .noRoom(effect) }
    let nodes = operation.nodes
    if nodes > 0 || effect.growth > 0,
      isTooLong(growing: effect.growth, nodes: nodes, terms.rule, limits)
    {
      return .tooLong
    }
    let sizeBefore = terms.isContested && !isNew ? size(terms.rule) : nil
    perform(operation)
    if !isNew {
      pending = call(pendingNumber ?? terms.next)
      // Moving an item to where it is leaves nothing pending.
      if pending.pendingNumber == nil { effect.pending = terms.changeSize }
    }
    return .done(effect, sizeBefore: sizeBefore)
  }

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
