import CairnBytes
import CairnMerge

/// Deltas that were committed before: other devices', or our own when the log is replayed.
extension TableState {
  /// The delta at hand, in the form that its cells are judged by.
  struct Author {
    var stamp: Stamp
    var stampNumber: UInt32
    /// What the author had seen, by device number, this delta included.
    var seen: [UInt64]
    var context: VersionVector
    /// No other device can ever write here: nothing need be remembered of deletes.
    var isAlone: Bool
  }

  /// Applies a section. `slots` keeps the slot (plus one) of each record of the delta's scope.
  mutating func apply(
    _ delta: Delta, _ section: Delta.Section, heap: [UInt8], names: [RecordName],
    slots: inout [UInt32], by author: Author, _ ground: inout Ground, _ rules: RuleBook,
    _ totals: inout StoreTotals
  ) throws(StoreError) {
    var refreshed: Set<Int> = []
    for index in section.records {
      let entry = delta.records[index]
      let reference = Int(entry.reference)
      let slot: Int
      if slots[reference] != 0 {
        slot = Int(slots[reference]) - 1
        epochs[slot] = ground.epoch
      } else {
        let name = names[reference]
        slot = try writableSlot(name, try find(name, &ground), &ground, rules)
        slots[reference] = UInt32(slot + 1)
      }
      totals.report(slot, in: &self)
      if entry.flags != 0 {
        try applyFlags(
          entry.flags, born: delta.born[index] ?? [], slot, by: author, &ground, rules, &totals)
        if isComplex(slot) { refreshed.insert(slot) }
      }
    }
    for column in delta.columns[section.columns] {
      try apply(
        column, of: delta, heap: heap, slots: slots, by: author, &ground, rules, &totals,
        &refreshed)
    }
    for slot in refreshed.sorted() { settle(slot, &ground, rules, &totals) }
  }

  private mutating func applyFlags(
    _ flags: UInt8, born: [Dot], _ slot: Int, by author: Author, _ ground: inout Ground,
    _ rules: RuleBook, _ totals: inout StoreTotals
  ) throws(StoreError) {
    let isPlainInsert = flags == Delta.Flags.insert && !exists(slot) && !isComplex(slot)
    if isPlainInsert {
      self.flags[slot] |= Flag.exists
      presences[slot] = author.stampNumber
      sizes[slot] = UInt32(Sizes.record)
      if isCounted { totals.add(size: Sizes.record, records: 1) }
      return
    }
    if author.isAlone {
      if flags & Delta.Flags.delete != 0 { drop(slot, &totals) }
      // One that is there already: only a log with holes says so.
      if flags & Delta.Flags.insert != 0, !exists(slot) {
        try applyFlags(
          Delta.Flags.insert, born: [], slot, by: author, &ground, rules, &totals)
      }
      return
    }
    try makeComplex(slot, &ground, rules)
    if flags & Delta.Flags.delete != 0 {
      complex.update(slot) {
        $0.apply(.delete, stamp: author.stamp, context: author.context, born: [])
      }
    }
    if flags & Delta.Flags.insert != 0 {
      complex.update(slot) {
        $0.apply(.insert, stamp: author.stamp, context: author.context, born: born)
      }
    }
    if flags & Delta.Flags.born != 0 { pendingBorn[slot] = born }
  }

  /// Deletes a plain record without a trace.
  private mutating func drop(_ slot: Int, _ totals: inout StoreTotals) {
    if isCounted, exists(slot) { totals.add(size: -Int(sizes[slot]), records: -1) }
    flags[slot] = Flag.hidesBase
    sizes[slot] = 0
    for column in columns.indices where columns[column].tag(slot) != CellTag.none {
      set(slot, column, .none, stamp: StampTable.settled)
    }
  }

  private mutating func apply(
    _ column: Delta.Column, of delta: Delta, heap: [UInt8], slots: [UInt32], by author: Author,
    _ ground: inout Ground, _ rules: RuleBook, _ totals: inout StoreTotals,
    _ refreshed: inout Set<Int>
  ) throws(StoreError) {
    let target = self.column(column.field, &ground, rules)
    if !column.operation.hasValues {
      try applyLists(
        column, target, of: delta, slots, by: author, &ground, rules, &totals, &refreshed)
      return
    }
    for index in column.cells {
      let slot = Int(slots[Int(delta.records[Int(delta.rows[index])].reference)]) - 1
      let cell = Cell(tag: delta.tags[index], word: delta.words[index])
      if column.operation == .put, flags[slot] & (Flag.exists | Flag.complex) == Flag.exists,
        try putPlain(cell, heap, slot, target, by: author, &ground, &totals)
      {
        continue
      }
      try makeComplex(slot, &ground, rules)
      let value = cell.value(heap)
      let write: Write
      if column.operation == .add, let value, let running = delta.totals[index] {
        write = .add(result: value, total: running.total, since: running.since)
      } else if cell.tag == CellTag.createdList, case .list(let items) = value {
        write = .create(items, covered: delta.covered[index] ?? [])
      } else {
        write = .put(value, covered: delta.covered[index] ?? [])
      }
      let born = pendingBorn[slot] ?? []
      complex.update(slot) {
        $0.apply(
          .write(field: column.field, write), stamp: author.stamp, context: author.context,
          born: born)
      }
      refreshed.insert(slot)
    }
  }

  /// The common case: the author had seen what is there, so its cell takes its place.
  @inline(__always)
  private mutating func putPlain(
    _ cell: Cell, _ heap: [UInt8], _ slot: Int, _ column: Int, by author: Author,
    _ ground: inout Ground, _ totals: inout StoreTotals
  ) throws(StoreError) -> Bool {
    let stamp = try stamp(slot, column, &ground)
    guard ground.stamps.isSeen(stamp, by: author.seen) else { return false }
    let own = columns[column].cell(slot)
    if own.tag >= CellTag.no, own.tag < CellTag.string, cell.tag >= CellTag.no,
      cell.tag < CellTag.string
    {
      columns[column].set(slot, cell, stamp: author.stampNumber)
      return true
    }
    let before = try view(.slot(slot), column, &ground).fieldSize
    let adopted = ground.adopt(cell, from: heap)
    let after =
      CellTag.isValue(cell.tag) ? Sizes.field + adopted.valueSize(ground.heap) : 0
    columns[column].set(slot, adopted, stamp: author.stampNumber)
    sizes[slot] = UInt32(clamping: Int(sizes[slot]) + after - before)
    if isCounted { totals.add(size: after - before, records: 0) }
    return true
  }

  /// Turns a plain slot into one with the full state of a record.
  mutating func makeComplex(
    _ slot: Int, _ ground: inout Ground, _ rules: RuleBook
  ) throws(StoreError) {
    if isComplex(slot) { return }
    complex[slot] = try plainState(slot, &ground, rules, old: [:])
    flags[slot] |= Flag.complex | Flag.hidesBase
  }

  /// The state of a plain slot; `old` are cells to take instead of those in the columns.
  mutating func plainState(
    _ slot: Int, _ ground: inout Ground, _ rules: RuleBook, old: [Int: Undo]
  ) throws(StoreError) -> RecordState {
    var state = RecordState()
    if presences[slot] != StampTable.pending, flags[slot] & Flag.exists != 0 {
      state.presences = [Presence(stamp: ground.stamps[presences[slot]], born: [])]
    }
    try addBaseColumns(.slot(slot), &ground, rules)
    for column in columns.indices {
      var view = try view(.slot(slot), column, &ground)
      // Most tables have many fields and records few of them.
      if view.cell.isNone, old[column] == nil { continue }
      var number = try stamp(slot, column, &ground)
      if let undo = old[column] {
        view = CellView(cell: undo.cell, heap: ground.heap)
        number = undo.stamp
        if undo.tag == CellTag.none, seesBase(slot) {
          view = try baseView(places[slot], column, &ground)
          number = try baseStampNumber(slot, column, &ground)
        }
      }
      if view.cell.isNone { continue }
      state.fields[fieldNames[column]] = Register(
        view.value, stamp: ground.stamps[number],
        isCreated: view.cell.tag == CellTag.createdList)
    }
    return state
  }

  /// Shows what a record's state says now, and counts it.
  mutating func settle(
    _ slot: Int, _ ground: inout Ground, _ rules: RuleBook, _ totals: inout StoreTotals
  ) {
    let sizeBefore = Int(sizes[slot])
    let existed = sizeBefore > 0
    pendingBorn[slot] = nil
    refresh(slot, &ground, rules)
    if isCounted {
      totals.add(
        size: Int(sizes[slot]) - sizeBefore, records: (exists(slot) ? 1 : 0) - (existed ? 1 : 0))
    }
  }

  /// Puts the visible values of a record's state into its cells. What is pending stays as it is:
  /// the state does not know of it.
  mutating func refresh(_ slot: Int, _ ground: inout Ground, _ rules: RuleBook) {
    guard let state = complex[slot] else { return }
    var isPending = false
    if pendingMarks[slot] != 0 {
      let pending = pendingRecords[Int(pendingMarks[slot]) - 1]
      if pending.deleted || pending.inserted || !self.exists(slot) { return }
      isPending = true
    }
    let said = state.fields.keys.map { column($0, &ground, rules) }.sorted()
    var next = 0
    var size = Sizes.record
    let exists = isPending || state.exists
    for column in columns.indices {
      // The names of all columns would be looked for in each record.
      let isSaid = next < said.count && said[next] == column
      if isSaid { next += 1 }
      if isPending, self.isPending(slot, column) {
        size += pendingFieldSize(slot, column, ground)
        continue
      }
      if exists, isSaid {
        size += showAgain(slot, column, &ground)
      } else if columns[column].tag(slot) != CellTag.none {
        set(slot, column, .none, stamp: StampTable.settled)
      }
    }
    flags[slot] = Flag.complex | Flag.hidesBase | (exists ? Flag.exists : 0)
    sizes[slot] = exists ? UInt32(clamping: size) : 0
  }
}
