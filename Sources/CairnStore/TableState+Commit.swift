import CairnBytes
import CairnMerge

/// From pending changes to the columns of a delta: the smallest set with the same effect.
extension TableState {
  /// What commits have to know of the store.
  struct CommitScope {
    var dot: Dot
    var isAlone: Bool
    /// Records in the segment's dictionary; grows with each new one.
    var dictionaryCount: UInt32
  }

  var hasPending: Bool { !pendingRecords.isEmpty }

  /// Appends this table's section, if there is anything to say.
  mutating func collect(
    into delta: inout Delta, _ scope: inout CommitScope, _ ground: inout Ground,
    _ rules: RuleBook
  ) throws(StoreError) {
    flattenNewLists(&ground)
    let included = try includedCells(&ground)
    collectLists(isAlone: scope.isAlone)
    let firstRecord = delta.records.count
    addRecords(into: &delta, &scope)
    guard delta.records.count > firstRecord else { return }
    let firstColumn = delta.columns.count
    if !included.isEmpty {
      let (cells, ends) = byColumn(included)
      var start = 0
      for column in columns.indices {
        defer { start = ends[column] }
        if start == ends[column] { continue }
        try addColumn(column, cells[start..<ends[column]], into: &delta, scope, &ground, rules)
      }
    }
    addListColumns(into: &delta)
    delta.sections.append(
      Delta.Section(
        table: name, records: firstRecord..<delta.records.count,
        columns: firstColumn..<delta.columns.count))
  }

  /// Indexes in `undo` of the cells that really change; the others become what they were.
  private mutating func includedCells(_ ground: inout Ground) throws(StoreError) -> [Int] {
    for index in pendingRecords.indices { pendingRecords[index].row = .max }
    var included: [Int] = []
    included.reserveCapacity(undo.count)
    for index in undo.indices {
      let slot = Int(undo[index].slot)
      let column = Int(undo[index].column)
      let mark = Int(pendingMarks[slot]) - 1
      if mark >= 0, !pendingRecords[mark].hasCells { pendingRecords[mark].hasCells = true }
      guard columns[column].stamp(slot) == StampTable.pending, exists(slot) else { continue }
      if pendingRecords[mark].inserted {
        guard CellTag.isValue(columns[column].tag(slot)) else {
          // Removed from a record that nobody else has seen yet: the field was never written.
          columns[column].set(slot, .none, stamp: StampTable.settled)
          continue
        }
      } else if try isUnchanged(undo[index], columns[column].cell(slot), &ground) {
        columns[column].set(slot, undo[index].cell, stamp: undo[index].stamp)
        continue
      }
      if pendingRecords[mark].row != 0 { pendingRecords[mark].row = 0 }
      included.append(index)
    }
    return included
  }

  /// The same indexes, column after column, and where each column's end.
  private func byColumn(_ included: [Int]) -> (cells: [Int], ends: [Int]) {
    var ends = [Int](repeating: 0, count: columns.count)
    for index in included { ends[Int(undo[index].column)] += 1 }
    var next = 0
    for column in columns.indices {
      next += ends[column]
      ends[column] = next - ends[column]
    }
    var cells = [Int](repeating: 0, count: included.count)
    for index in included {
      let column = Int(undo[index].column)
      cells[ends[column]] = index
      ends[column] += 1
    }
    return (cells, ends)
  }

  private mutating func isUnchanged(
    _ old: Undo, _ cell: Cell, _ ground: inout Ground
  ) throws(StoreError) -> Bool {
    let slot = Int(old.slot)
    if old.tag == CellTag.editedList { return false }
    // Writing the visible value of a conflict again decides the conflict.
    if isComplex(slot),
      (complex[slot]?.fields[fieldNames[Int(old.column)]]?.entries.count ?? 0) > 1
    {
      return false
    }
    var before = CellView(cell: old.cell, heap: ground.heap)
    if old.tag == CellTag.none, seesBase(slot) {
      before = try baseView(places[slot], Int(old.column), &ground)
    }
    if !CellTag.isValue(before.cell.tag) { return !CellTag.isValue(cell.tag) }
    return cell.equals(ground.heap, before.cell, before.heap)
  }

  private mutating func addRecords(into delta: inout Delta, _ scope: inout CommitScope) {
    for index in pendingRecords.indices {
      let pending = pendingRecords[index]
      let slot = pending.slot
      var flags: UInt8 = 0
      if pending.deleted { flags |= Delta.Flags.delete }
      if pending.inserted, exists(slot) { flags |= Delta.Flags.insert }
      guard flags != 0 || pending.row != .max else { continue }
      while references.count <= slot { references.append(0) }
      if references[slot] == 0 {
        scope.dictionaryCount += 1
        references[slot] = scope.dictionaryCount
        delta.newNames.append(ids[slot])
      }
      let row = delta.records.count
      pendingRecords[index].row = UInt32(row)
      if let born = births(pending, scope), !born.isEmpty {
        flags |= Delta.Flags.born
        delta.born[row] = born
      }
      delta.records.append(Delta.RecordEntry(flags: flags, reference: references[slot] - 1))
    }
  }

  /// The deletes that what is written now was born after.
  private func births(_ pending: PendingRecord, _ scope: CommitScope) -> [Dot]? {
    if scope.isAlone { return nil }
    // A delete in this very delta comes before its insert, and covers all earlier ones.
    if pending.deleted { return pending.inserted ? [scope.dot] : nil }
    // An edit of a list lives and dies with the list.
    if !pending.inserted, hasOnlyLists(pending.slot) { return nil }
    guard let state = complex[pending.slot] else { return nil }
    return pending.inserted ? state.bornOfInsert : state.bornOfUpdate
  }

  private mutating func addColumn(
    _ column: Int, _ cells: ArraySlice<Int>, into delta: inout Delta, _ scope: CommitScope,
    _ ground: inout Ground, _ rules: RuleBook
  ) throws(StoreError) {
    var rows: [(row: UInt32, undo: Int)] = []
    rows.reserveCapacity(cells.count)
    var isSorted = true
    for index in cells {
      let row = pendingRecords[Int(pendingMarks[Int(undo[index].slot)]) - 1].row
      if let last = rows.last, last.row >= row { isSorted = false }
      rows.append((row, index))
    }
    if !isSorted {
      rows.sort { ($0.row, $0.undo) < ($1.row, $1.undo) }
      // A commit that failed may have left two notes of a cell: it was what it had been, and was
      // written again. The first one says what there was.
      var last = UInt32.max
      rows.removeAll { entry in
        defer { last = entry.row }
        return entry.row == last
      }
    }
    if scope.isAlone || columns[column].rule != .sum && complex.isEmpty {
      emit(column, .put, rows, into: &delta)
      return
    }
    var byOperation: [Delta.Operation: [(row: UInt32, undo: Int)]] = [:]
    var writes: [Int: Write] = [:]
    for entry in rows {
      let write = try write(column, undo[entry.undo], scope, ground: &ground, rules)
      writes[entry.undo] = write
      switch write {
      case .add: byOperation[.add, default: []].append(entry)
      case .put(_, let covered), .create(_, let covered):
        byOperation[covered.isEmpty ? .put : .putCovering, default: []].append(entry)
      case .edit: break
      }
    }
    for operation in [Delta.Operation.put, .putCovering, .add] {
      guard let entries = byOperation[operation] else { continue }
      let first = delta.tags.count
      emit(column, operation, entries, into: &delta)
      for (offset, entry) in entries.enumerated() {
        switch writes[entry.undo] {
        case .put(_, let covered), .create(_, let covered):
          if !covered.isEmpty { delta.covered[first + offset] = covered }
        case .add(_, let total, let since):
          delta.totals[first + offset] = Delta.Addition(since: since, total: total)
        case .edit, nil: break
        }
      }
    }
  }

  private func emit(
    _ column: Int, _ operation: Delta.Operation, _ rows: [(row: UInt32, undo: Int)],
    into delta: inout Delta
  ) {
    let first = delta.tags.count
    // Asked for once, and not for each cell.
    let cells = columns[column]
    delta.rows.append(addingCapacity: rows.count) { room in
      for (row, _) in rows { room.append(row) }
    }
    delta.tags.append(addingCapacity: rows.count) { room in
      for (_, index) in rows {
        let tag = cells.tag(Int(undo[index].slot))
        room.append(tag == CellTag.none ? CellTag.absent : tag)
      }
    }
    delta.words.append(addingCapacity: rows.count) { room in
      for (_, index) in rows { room.append(cells.cell(Int(undo[index].slot)).word) }
    }
    delta.columns.append(
      Delta.Column(
        field: fieldNames[column], operation: operation, cells: first..<delta.tags.count))
  }

  /// How a cell is written under the field's rule.
  private mutating func write(
    _ column: Int, _ old: Undo, _ scope: CommitScope, ground: inout Ground, _ rules: RuleBook
  ) throws(StoreError) -> Write {
    let slot = Int(old.slot)
    let cell = columns[column].cell(slot)
    let value = cell.value(ground.heap)
    let register: Register
    let pending = pendingRecords[Int(pendingMarks[slot]) - 1]
    if let state = complex[slot], !pending.deleted {
      // Also for an insert: a removal that is remembered may cover additions.
      register = state.register(fieldNames[column])
    } else if pending.inserted {
      register = Register()
    } else {
      var before = CellView(cell: old.cell, heap: ground.heap)
      if old.tag == CellTag.none, seesBase(slot) {
        before = try baseView(places[slot], column, &ground)
      }
      register = before.cell.isNone ? Register() : Register(before.value)
    }
    if cell.tag == CellTag.createdList, case .list(let items) = value {
      return register.create(items)
    }
    return register.write(value, rule: columns[column].rule, dot: scope.dot)
  }

  /// The delta is on disk: what was pending is committed.
  ///
  /// - Parameter seen: all deltas that were here before it.
  mutating func commit(
    _ delta: inout Delta, stampNumber: UInt32, stamp: Stamp, seen: VersionVector,
    _ scope: CommitScope, _ ground: inout Ground, _ rules: RuleBook
  ) throws(StoreError) {
    if !scope.isAlone, mayNeedStates(hasTotals: !delta.totals.isEmpty),
      let section = delta.sections.first(where: { $0.table == name })
    {
      try commitComplex(delta, section, stamp: stamp, seen: seen, &ground, rules)
    }
    commitLists(&delta, stamp: stamp, seen: seen)
    let shown = recordsToShow()
    for old in undo { columns[Int(old.column)].commit(Int(old.slot), stamp: stampNumber) }
    for pending in pendingRecords {
      if presences[pending.slot] == StampTable.pending { presences[pending.slot] = stampNumber }
      pendingMarks[pending.slot] = 0
    }
    freeReplacedLists()
    forgetPending()
    for slot in shown { refresh(slot, &ground, rules) }
  }

  /// Records with a full state, other than those of which only lists were edited.
  private mutating func recordsToShow() -> [Int] {
    if complex.isEmpty { return [] }
    var slots: [Int] = []
    for pending in pendingRecords where isComplex(pending.slot) {
      if pending.inserted || pending.deleted || pending.hasCells { slots.append(pending.slot) }
    }
    return slots
  }

  /// Whether the delta may have something for `commitComplex`.
  private mutating func mayNeedStates(hasTotals: Bool) -> Bool {
    if hasTotals { return true }
    for pending in pendingRecords {
      if pending.deleted || isComplex(pending.slot) && !hasOnlyLists(pending.slot) { return true }
    }
    return false
  }

  /// Deletes, sums and everything on records in conflict goes through the full state.
  private mutating func commitComplex(
    _ delta: Delta, _ section: Delta.Section, stamp: Stamp, seen: VersionVector,
    _ ground: inout Ground, _ rules: RuleBook
  ) throws(StoreError) {
    var context = seen
    context.insert(stamp.dot)
    var needed = Set(
      pendingRecords.filter { $0.deleted || isComplex($0.slot) && !hasOnlyLists($0.slot) }
        .map(\.slot))
    let added = delta.columns[section.columns].filter { $0.operation == .add }
    if needed.isEmpty, added.isEmpty { return }
    var slotOfRow: [UInt32: Int] = [:]
    for pending in pendingRecords where pending.row != .max {
      slotOfRow[pending.row] = pending.slot
    }
    for column in added {
      for cell in column.cells { needed.insert(slotOfRow[delta.rows[cell]] ?? -1) }
    }
    needed.remove(-1)
    if needed.isEmpty { return }
    var old: [Int: [Int: Undo]] = [:]
    for entry in undo where needed.contains(Int(entry.slot)) {
      old[Int(entry.slot), default: [:]][Int(entry.column)] = entry
    }
    for slot in needed.sorted() where !isComplex(slot) {
      try makeComplex(slot, beforePending: old[slot] ?? [:], &ground, rules)
    }
    for index in section.records {
      guard let slot = slotOfRow[UInt32(index)], needed.contains(slot) else { continue }
      let flags = delta.records[index].flags
      let born = delta.born[index] ?? []
      if flags & Delta.Flags.delete != 0 {
        complex.update(slot) { $0.apply(.delete, stamp: stamp, context: context, born: []) }
      }
      if flags & Delta.Flags.insert != 0 {
        complex.update(slot) { $0.apply(.insert, stamp: stamp, context: context, born: born) }
      }
    }
    for column in delta.columns[section.columns] where column.operation.hasValues {
      for cell in column.cells {
        let row = delta.rows[cell]
        guard let slot = slotOfRow[row], needed.contains(slot) else { continue }
        let change = write(delta, column, cell, ground.heap)
        let born = delta.born[Int(row)] ?? []
        complex.update(slot) {
          $0.apply(
            .write(field: column.field, change), stamp: stamp, context: context, born: born)
        }
      }
    }
  }

  private func write(
    _ delta: Delta, _ column: Delta.Column, _ cell: Int, _ heap: [UInt8]
  ) -> Write {
    let value = Cell(tag: delta.tags[cell], word: delta.words[cell]).value(heap)
    if column.operation == .add, let value, let running = delta.totals[cell] {
      return .add(result: value, total: running.total, since: running.since)
    }
    if delta.tags[cell] == CellTag.createdList, case .list(let items) = value {
      return .create(items, covered: delta.covered[cell] ?? [])
    }
    return .put(value, covered: delta.covered[cell] ?? [])
  }

  /// Gives a slot its full state, with the cells that it had before the pending delta.
  mutating func makeComplex(
    _ slot: Int, beforePending old: [Int: Undo], _ ground: inout Ground, _ rules: RuleBook
  ) throws(StoreError) {
    let pending = pendingRecords[Int(pendingMarks[slot]) - 1]
    let now = (flags[slot], presences[slot])
    // The state as it was: with the flags and presence from before the pending delta.
    flags[slot] = pending.flagsBefore
    presences[slot] = pending.presenceBefore
    let state =
      pending.existedBefore ? try plainState(slot, &ground, rules, old: old) : RecordState()
    (flags[slot], presences[slot]) = now
    complex[slot] = state
    flags[slot] |= Flag.complex | Flag.hidesBase
  }
}
