import CairnBytes
import CairnMerge

/// Local changes with their limits: everything is checked before anything changes.
extension StoreState {
  typealias FieldChange = (field: String, value: FieldValue?)

  /// `field` gives the fields one by one: an insert of eight fields spends a good part of its time
  /// on arrays of them.
  mutating func insert(
    _ number: Int, _ id: RecordName, count: Int, limits: Limits, field: (Int) -> FieldChange
  ) throws(StoreError) {
    try requireWritable()
    let place = try tables[number].find(id, &ground)
    if try isThere(number, place) {
      throw StoreError(.exists, "the record \(id.text) is in table \(tables[number].name) already")
    }
    let heapBefore = ground.heap.count
    do throws(StoreError) {
      let size = try stage(number, count, field)
      try insertStaged(number, id, place, size: size, limits: limits)
    } catch {
      ground.heap.removeLast(ground.heap.count - heapBefore)
      throw error
    }
  }

  /// Turns the fields into cells, which show nowhere yet. Returns the size of the record.
  private mutating func stage(
    _ number: Int, _ count: Int, _ field: (Int) -> FieldChange
  ) throws(StoreError) -> Int {
    var size = Sizes.record
    targets.removeAll(keepingCapacity: true)
    for index in 0..<count {
      let (name, value) = field(index)
      guard let value else { continue }
      let column = try newTarget(number, name)
      size += try fieldSize(name, value)
      targets.append(Target(column: column, cell: Cell(value, heap: &ground.heap)))
    }
    return size
  }

  private mutating func insertStaged(
    _ number: Int, _ id: RecordName, _ place: TableState.Place, size: Int, limits: Limits
  ) throws(StoreError) {
    let changeSize = Sizes.change + size - Sizes.record
    let change = size + (tables[number].isCounted ? 0 : -size)
    try check(limits, number, id, recordSize: size, growth: change, pendingGrowth: changeSize)
    if tables[number].isCounted, totals.recordCount >= limits.records {
      throw StoreError(
        .sizeLimit,
        "the datastore holds \(totals.recordCount) records, its limit; delete some first")
    }
    let slot = try tables[number].writableSlot(id, place, &ground, rules)
    tables[number].insert(slot)
    tables[number].put(slot, targets)
    finish(number, slot, size: size, records: 1, changeSize: changeSize)
  }

  mutating func isThere(
    _ number: Int, _ place: TableState.Place
  ) throws(StoreError) -> Bool {
    switch place {
    case .nowhere: false
    case .slot(let slot): tables[number].exists(slot)
    case .base(let row): try tables[number].baseExists(row, &ground)
    }
  }

  /// The column that a field is written to. A name is checked when it is first used: a name that
  /// has a column is a good one.
  @inline(__always)
  mutating func writableColumn(
    _ number: Int, _ field: String
  ) throws(StoreError) -> Int {
    if let known = tables[number].findColumn(field) { return known }
    guard Identifier.isValidField(field) else {
      throw StoreError(
        .illegalArgument,
        "\"\(field)\" can't name a field: 1 to 64 of the characters A-Z a-z 0-9 - . _ + / =, or a "
          + "colon and up to 63 of these", id: field)
    }
    return tables[number].column(field, &ground, rules)
  }

  /// The column of one more field of the change at hand; each may be named once only, or sizes
  /// would be wrong. Fields mostly come in the order of their columns.
  @inline(__always)
  private mutating func newTarget(_ number: Int, _ field: String) throws(StoreError) -> Int {
    let column = try writableColumn(number, field)
    if let last = targets.last, column <= last.column,
      targets.contains(where: { $0.column == column })
    {
      throw StoreError(.illegalArgument, "field \(field) is given twice in one change", id: field)
    }
    return column
  }

  private func fieldSize(_ field: String, _ value: FieldValue?) throws(StoreError) -> Int {
    guard let value else { return 0 }
    let size = value.size
    if size >= Cell.heapLengthMax {
      throw StoreError(.sizeLimit, "field \(field): \(size) bytes; no value can have that many")
    }
    return Sizes.field + size
  }

  /// The record that a change is for, as a slot.
  mutating func existingSlot(_ number: Int, _ id: RecordName) throws(StoreError) -> Int {
    if let slot = tables[number].findSlot(id) {
      if tables[number].exists(slot) {
        tables[number].epochs[slot] = ground.epoch
        return slot
      }
    } else if let row = try tables[number].baseRow(id, &ground),
      try tables[number].baseExists(row, &ground)
    {
      return try tables[number].writableSlot(id, .base(row), &ground, rules)
    }
    throw StoreError(
      .deleted, "there is no record \(id.text) in table \(tables[number].name); was it deleted?",
      id: id.text)
  }

  mutating func update(
    _ number: Int, _ id: RecordName, _ fields: [FieldChange], limits: Limits
  ) throws(StoreError) {
    try requireWritable()
    let slot = try existingSlot(number, id)
    let fields =
      fields.contains { $0.value == nil } ? try changing(number, slot, fields) : fields
    if fields.isEmpty { return }
    var growth = 0
    var pendingGrowth =
      tables[number].pendingMarks[slot] == 0 ? Sizes.change : 0
    targets.removeAll(keepingCapacity: true)
    for (field, value) in fields {
      let column = try newTarget(number, field)
      targets.append(Target(column: column, cell: .none))
      let (old, oldPending) = try sizeNow(number, slot, column)
      let new = try fieldSize(field, value)
      growth += new - old
      // A removal counts as a change of a field without a value.
      pendingGrowth += max(new, Sizes.field) - oldPending
    }
    let size = Int(tables[number].sizes[slot]) + growth
    // Rules cost nothing.
    let counted = tables[number].isCounted ? growth : 0
    try check(
      limits, number, id, recordSize: size, growth: counted, pendingGrowth: pendingGrowth)
    _ = tables[number].pend(slot)
    for index in fields.indices {
      tables[number].put(
        slot, targets[index].column, Cell(fields[index].value, heap: &ground.heap))
    }
    finish(number, slot, size: growth, records: 0, changeSize: pendingGrowth)
  }

  /// The fields but for those that are removed and have no value: that is no change. Where several
  /// values compete, a removal decides even if none shows.
  private mutating func changing(
    _ number: Int, _ slot: Int, _ fields: [FieldChange]
  ) throws(StoreError) -> [FieldChange] {
    var changes: [FieldChange] = []
    for (field, value) in fields {
      let column = try writableColumn(number, field)
      let entries = tables[number].complex[slot]?.fields[field]?.entries.count ?? 0
      if value == nil, !tables[number].isPending(slot, column), entries < 2,
        try sizeNow(number, slot, column) == (0, 0)
      {
        continue
      }
      changes.append((field, value))
    }
    return changes
  }

  /// What a field takes now, and what of that is part of the pending delta.
  @inline(__always)
  mutating func sizeNow(
    _ number: Int, _ slot: Int, _ column: Int
  ) throws(StoreError) -> (size: Int, pending: Int) {
    let cell = tables[number].columns[column].cell(slot)
    let isPending = tables[number].isPending(slot, column)
    // Edits of a list that is hidden by now, too: whatever is put ends them.
    let lists = isPending ? 0 : tables[number].pendingListSize(slot, column)
    if cell.tag >= CellTag.no, cell.tag < CellTag.string {
      return (Sizes.field, isPending ? Sizes.field : lists)
    }
    if cell.tag == CellTag.editedList, !isPending {
      return (Sizes.field + tables[number].listSize(slot, column), lists)
    }
    if cell.tag != CellTag.none {
      let size = tables[number].pendingFieldSize(slot, column, ground)
      return (size, isPending ? max(size, Sizes.field) : lists)
    }
    // Pending without a cell: the record was deleted and inserted again, and the change's size
    // with it.
    return (try tables[number].view(.slot(slot), column, &ground).fieldSize, lists)
  }

  mutating func delete(_ number: Int, _ id: RecordName) throws(StoreError) {
    try requireWritable()
    let slot = try existingSlot(number, id)
    let size = Int(tables[number].sizes[slot])
    tables[number].delete(slot)
    let pending = tables[number].pend(slot)
    let existed = tables[number].pendingRecords[pending].existedBefore
    let before = tables[number].pendingRecords[pending].changeSize
    finish(
      number, slot, size: -size, records: -1,
      changeSize: (existed ? Sizes.change : 0) - before)
  }

  mutating func finish(
    _ number: Int, _ slot: Int, size: Int, records: Int, changeSize: Int
  ) {
    tables[number].notePending(slot, size: size, records: records, changeSize: changeSize)
    count(number, slot, size: size, records: records, changeSize: changeSize)
  }

  /// What of a change that the table has noted is of the whole store.
  mutating func count(
    _ number: Int, _ slot: Int, size: Int, records: Int, changeSize: Int
  ) {
    if journal.isOn, tables[number].name != CutTable.name {
      journal.note(tables[number].ids[slot], table: tables[number].name)
    }
    pendingSize += changeSize
    if tables[number].isCounted { totals.add(size: size, records: records) }
    if ground.heap.count > ground.heapLimit { tidyHeap() }
  }

  /// Limits hold for what grows; equal to a limit is allowed.
  @inline(__always)
  func check(
    _ limits: Limits, _ number: Int, _ id: RecordName, recordSize: Int, growth: Int,
    pendingGrowth: Int
  ) throws(StoreError) {
    let total = totals.size + growth
    let pending = Sizes.delta + pendingSize + pendingGrowth
    if growth > 0 && (recordSize > limits.recordBytes || total > limits.datastoreBytes)
      || pendingGrowth > 0 && pending > limits.deltaBytes
    {
      // What does not grow is not what a limit refuses, though it may be beyond it.
      throw limitError(
        limits, number, id, growth > 0 ? recordSize : 0, total: growth > 0 ? total : 0,
        pending: pending)
    }
  }

  private func limitError(
    _ limits: Limits, _ number: Int, _ id: RecordName, _ size: Int, total: Int, pending: Int
  ) -> StoreError {
    if size > limits.recordBytes {
      return StoreError(
        .sizeLimit,
        "record \(id.text) of table \(tables[number].name) would take \(size) bytes; the limit is "
          + "\(limits.recordBytes): attach what is large (Datastore.attach)", id: id.text)
    }
    if total > limits.datastoreBytes {
      return StoreError(
        .sizeLimit,
        "the datastore would take \(total) bytes; the limit is \(limits.datastoreBytes): delete "
          + "something first")
    }
    return StoreError(
      .sizeLimit,
      "the changes since the last sync would take \(pending) bytes; the limit is "
        + "\(limits.deltaBytes): sync more often")
  }
}
