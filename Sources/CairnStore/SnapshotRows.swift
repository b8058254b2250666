import CairnBytes
import CairnLog
import CairnMerge

/// The rows that a table has in a snapshot of a frozen state, in the order of their ids: those of
/// the base, and above them the overlay's slots. One block at a time is in memory.
struct SnapshotRows {
  /// The row at hand. Its cells refer to `baseHeap` where they say so, else to `heap`.
  private(set) var row = BlockBuilder.Row()
  private(set) var baseHeap: [UInt8] = []
  /// The whole state of the row at hand, if it takes one to tell.
  private(set) var full: RecordState?
  var heap: [UInt8] { ground.heap }

  private let table: TableState
  private var ground: Ground
  private let isAlone: Bool
  private let fence: VersionVector
  private let slots: [Int]
  private var nextSlot = 0
  private var slotFields: [Int]
  private var blocks: Range<Int> = 0..<0
  private var below: Below?
  private var blockRow = 0
  /// Text of a record that was in conflict and is a plain row now.
  private var scratch: [UInt8] = []
  /// Whether that is what `baseHeap` is.
  private var isScratch = false

  init(_ table: TableState, of source: SnapshotBuild.Source, _ fields: inout FieldNumbers) {
    self.table = table
    ground = source.ground
    isAlone = source.isAlone
    fence = source.description.fence
    slots = table.sortedSlots()
    slotFields = []
    for name in table.fieldNames { slotFields.append(fields.number(name)) }
    if let number = table.baseTable, let base = ground.base {
      let found = base.description.tables[number]
      blocks = found.firstBlock..<(found.firstBlock + found.blockCount)
    }
  }

  /// Goes on to the next row; false after the last. `fields` numbers the fields of its cells.
  mutating func next(_ fields: inout FieldNumbers) throws(StoreError) -> Bool {
    while try step(&fields) {
      if row.isThere { return true }
    }
    return false
  }

  /// Makes the row of the next record, which may turn out to be none.
  private mutating func step(_ fields: inout FieldNumbers) throws(StoreError) -> Bool {
    row.isThere = false
    if full != nil { full = nil }
    try openBlock(&fields)
    guard let below else {
      if nextSlot == slots.count { return false }
      nextSlot += 1
      try fill(slots[nextSlot - 1], nil, &fields)
      return true
    }
    if isScratch {
      baseHeap = below.block.bytes
      isScratch = false
    }
    if nextSlot < slots.count {
      let slot = slots[nextSlot]
      let name = below.block.name(blockRow)
      if table.ids[slot] == name {
        nextSlot += 1
        try fill(slot, (below, blockRow), &fields)
        blockRow += 1
        return true
      }
      if table.ids[slot] < name {
        nextSlot += 1
        try fill(slot, nil, &fields)
        return true
      }
    }
    try fill(below, blockRow, &fields)
    blockRow += 1
    return true
  }

  /// The base's block at hand: for each of its columns the field's number, and the overlay's
  /// column.
  private struct Below {
    var block: Block
    var fields: [Int]
    var columns: [Int?]
  }

  private mutating func openBlock(_ fields: inout FieldNumbers) throws(StoreError) {
    if let below, blockRow < below.block.rowCount { return }
    below = nil
    blockRow = 0
    guard let number = blocks.popFirst(), let block = try ground.base?.readUnkept(number) else {
      return
    }
    var (numbers, columns): ([Int], [Int?]) = ([], [])
    for column in block.columns {
      guard let name = ground.base?.fields.names[column.field] else { continue }
      numbers.append(fields.number(name))
      columns.append(table.existingColumn(name))
    }
    below = Below(block: block, fields: numbers, columns: columns)
    baseHeap = block.bytes
    isScratch = false
  }

  // MARK: rows

  private func settled(_ stamp: Stamp) -> Stamp {
    if isAlone || stamp.isSettled { return .settled }
    // Mostly nobody has asked for a fence.
    return !fence.isEmpty && fence.contains(stamp.dot) ? .settled : stamp
  }

  /// A list keeps its stamp: edits still to come name its items by it.
  private func settled(_ stamp: Stamp, _ cell: Cell) -> Stamp {
    !isAlone && CellTag.isList(cell.tag) ? stamp : settled(stamp)
  }

  /// A row that the base has and nothing changed.
  private mutating func fill(
    _ below: Below, _ blockRow: Int, _ fields: inout FieldNumbers
  ) throws(StoreError) {
    let block = below.block
    if let range = block.complexState(blockRow) {
      let state = try TableState.state(block.bytes, range, ground)
      try fill(block.name(blockRow), state, &fields)
      return
    }
    row.begin(block.name(blockRow), presence: settled(block.presence(blockRow)))
    let bytes = block.bytes
    for position in block.columns.indices {
      let cell = block.columns[position].cell(blockRow, bytes)
      if cell.isNone { continue }
      let stamp =
        isAlone ? .settled : settled(block.stamp(blockRow, block.columns[position]), cell)
      row.add(below.fields[position], cell, stamp, isBase: true)
    }
  }

  /// A record in conflict; a plain row if nothing is left to remember.
  private mutating func fill(
    _ name: RecordName, _ state: RecordState, _ fields: inout FieldNumbers
  ) throws(StoreError) {
    var state = state
    state.closeLists()
    state.prune(fence)
    scratch.removeAll(keepingCapacity: true)
    guard try row.fill(name, state, settlesAll: isAlone, heap: &scratch, &fields) else { return }
    if row.state != nil {
      full = state
    } else {
      baseHeap = scratch
      isScratch = true
    }
  }

  /// A slot, with what the base has of it.
  private mutating func fill(
    _ slot: Int, _ below: (Below, row: Int)?, _ fields: inout FieldNumbers
  ) throws(StoreError) {
    if let state = table.complex[slot] {
      try fill(table.ids[slot], state, &fields)
      return
    }
    guard table.exists(slot) else { return }
    row.begin(table.ids[slot], presence: settled(ground.stamps[table.presences[slot]]))
    for column in table.columns.indices {
      var cell = table.columns[column].cell(slot)
      if cell.isNone { continue }
      if cell.tag == CellTag.editedList {
        cell = ground.cell(of: table.lists[Int(cell.word)])
      }
      let stamp = settled(ground.stamps[table.columns[column].stamp(slot)], cell)
      row.add(slotFields[column], cell, stamp, isBase: false)
    }
    guard let (below, blockRow) = below, table.seesBase(slot) else { return }
    let block = below.block
    let bytes = block.bytes
    for position in block.columns.indices {
      if let above = below.columns[position], table.columns[above].tag(slot) != CellTag.none {
        continue
      }
      let cell = block.columns[position].cell(blockRow, bytes)
      if cell.isNone { continue }
      let stamp =
        isAlone ? .settled : settled(block.stamp(blockRow, block.columns[position]), cell)
      row.add(below.fields[position], cell, stamp, isBase: true)
    }
  }

  /// The state of the record at hand. `names` are those of the fields' numbers.
  func state(_ names: [String]) -> RecordState {
    if let full { return full }
    var state = RecordState(presences: [Presence(stamp: row.presence, born: [])])
    for cell in row.cells {
      state.fields[names[cell.field]] = Register(
        cell.cell.value(cell.isBase ? baseHeap : ground.heap), stamp: cell.stamp,
        isCreated: cell.cell.tag == CellTag.createdList)
    }
    return state
  }
}

extension BlockBuilder.Row {
  mutating func begin(_ name: RecordName, presence: Stamp) {
    self.name = name
    isThere = true
    cells.removeAll(keepingCapacity: true)
    state = nil
    heapBytes = 0
    self.presence = presence
  }

  mutating func add(_ field: Int, _ cell: Cell, _ stamp: Stamp, isBase: Bool) {
    // An absent that everybody has seen says nothing.
    if !CellTag.isValue(cell.tag), stamp.isSettled { return }
    if CellTag.isHeap(cell.tag) { heapBytes += Int(cell.word & 0xFF_FFFF) }
    cells.append(BlockBuilder.RowCell(field: field, cell: cell, stamp: stamp, isBase: isBase))
  }

  /// The row of a state that was pruned, plain if it can be: then text is in `heap`, and the cells
  /// say that it is the base's. False if nothing is left to remember.
  mutating func fill(
    _ name: RecordName, _ full: RecordState, settlesAll: Bool, heap: inout [UInt8],
    _ fields: inout FieldNumbers
  ) throws(StoreError) -> Bool {
    isThere = false
    if full.isEmpty { return false }
    guard let plain = full.plain else {
      try full.checkLists(of: name)
      begin(name, presence: .settled)
      var bytes: [UInt8] = []
      RecordStateCoding.encode(full, into: &bytes)
      state = bytes
      return true
    }
    begin(name, presence: settlesAll ? .settled : plain.presence)
    for (field, entry) in plain.fields {
      // Text goes through the heap like everybody's.
      let cell = Cell(entry, heap: &heap)
      add(fields.number(field), cell, settlesAll ? .settled : entry.stamp, isBase: true)
    }
    return true
  }
}

extension Cell {
  /// What a plain entry stands for.
  init(_ entry: Entry, heap: inout [UInt8]) {
    if entry.isCreated, case .list(let items) = entry.value {
      self = Cell(created: items, heap: &heap)
    } else {
      self = Cell(entry.value, heap: &heap)
    }
  }
}

extension RecordState {
  /// Merging knows no bound, and readers of a snapshot do: what they refuse would be found out only
  /// when the log, which has the record, is gone.
  fileprivate func checkLists(of name: RecordName) throws(StoreError) {
    var count = 0
    for register in fields.values {
      for list in register.lists { count += list.nodeCount }
    }
    if count <= FormatBounds.cellsInDelta { return }
    throw StoreError(
      .sizeLimit,
      "the edited lists of record \(name.text) have had \(count) items over their whole life; a "
        + "snapshot holds \(FormatBounds.cellsInDelta) of one record. The log keeps them, and "
        + "can't be folded until such a field is set anew", id: name.text)
  }
}
