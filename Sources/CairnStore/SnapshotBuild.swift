import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge

/// Writes the state of a frozen store as a snapshot: the base's rows and the overlay's slots,
/// merged in order, table by table. Works on values, outside the store's lock.
struct SnapshotBuild {
  /// What a freeze hands over: everything committed, nothing pending.
  struct Source {
    var datastore: UInt128
    var tables: [TableState]
    var ground: Ground
    var rules: RuleBook
    var totals: StoreTotals
    var description: SnapshotDescription
    /// Everything is settled: no other device can write here.
    var isAlone: Bool
  }

  private var source: Source
  private let writer: SnapshotWriter
  private var fields = FieldNumbers()
  private let fence: VersionVector
  private var row = BlockBuilder.Row()

  init(_ source: Source, writer: SnapshotWriter) {
    self.source = source
    self.writer = writer
    fence = source.description.fence
  }

  /// Writes the whole file; returns its length.
  mutating func run() throws(StoreError) -> UInt64 {
    var description = source.description
    description.size = source.totals.size
    description.recordCount = source.totals.recordCount
    let order = source.tables.indices.sorted {
      source.tables[$0].name < source.tables[$1].name
    }
    description.tables = []
    for index in order {
      let firstBlock = writer.blockCount
      let rows = try writeTable(index, number: description.tables.count)
      if rows == 0 { continue }
      description.tables.append(
        SnapshotDescription.Table(
          name: source.tables[index].name, firstBlock: firstBlock,
          blockCount: writer.blockCount - firstBlock, rowCount: rows))
    }
    do { return try writer.finish(description: description.encoded()) } catch {
      throw StoreError(error)
    }
  }

  private mutating func writeTable(_ index: Int, number: Int) throws(StoreError) -> Int {
    let table = source.tables[index]
    let salt = BaseSnapshot.salt(table.name)
    var builder = BlockBuilder(table: number)
    var slots = table.sortedSlots()[...]
    var rows = 0
    let slotFields = table.fieldNames.map { fields.number($0) }
    if let baseTable = table.baseTable,
      let blocks = source.ground.base?.description.tables[baseTable]
    {
      for blockNumber in blocks.firstBlock..<(blocks.firstBlock + blocks.blockCount) {
        guard let block = try source.ground.base?.readUnkept(blockNumber) else { break }
        let below = Below(block: block, fields: blockFields(block), columns: overlaid(block, table))
        for blockRow in 0..<block.rowCount {
          let name = block.name(blockRow)
          while let slot = slots.first, table.ids[slot] < name {
            slots = slots.dropFirst()
            fill(slot, table, slotFields, nil)
            try emit(&builder, salt, &rows, block.bytes)
          }
          if let slot = slots.first, table.ids[slot] == name {
            slots = slots.dropFirst()
            fill(slot, table, slotFields, (below, blockRow))
          } else {
            try fill(below, blockRow)
          }
          try emit(&builder, salt, &rows, block.bytes)
        }
      }
    }
    for slot in slots {
      fill(slot, table, slotFields, nil)
      try emit(&builder, salt, &rows, [])
    }
    try flush(&builder)
    return rows
  }

  /// The base's block at hand: for each of its columns the field's number, and the overlay's
  /// column.
  private struct Below {
    var block: Block
    var fields: [Int]
    var columns: [Int?]
  }

  private mutating func blockFields(_ block: Block) -> [Int] {
    guard let base = source.ground.base else { return [] }
    return block.columns.map { fields.number(base.fields.names[$0.field]) }
  }

  private func overlaid(_ block: Block, _ table: TableState) -> [Int?] {
    guard let base = source.ground.base else { return [] }
    return block.columns.map { table.existingColumn(base.fields.names[$0.field]) }
  }

  private mutating func emit(
    _ builder: inout BlockBuilder, _ salt: UInt64, _ rows: inout Int, _ baseHeap: [UInt8]
  ) throws(StoreError) {
    if row.hash == 0 { return }
    row.hash = BaseSnapshot.hash(row.name, salt: salt)
    if builder.mustCut(before: row) { try flush(&builder) }
    builder.add(row, heap: source.ground.heap, baseHeap: baseHeap)
    rows += 1
  }

  private func flush(_ builder: inout BlockBuilder) throws(StoreError) {
    if builder.isEmpty { return }
    let finished = builder
    builder = finished.emptied()
    let names = fields.names
    do throws(LogError) {
      try writer.add(hashes: finished.hashes) {
        var block = finished
        return block.finish(fields: names)
      }
    } catch { throw StoreError(error) }
  }

  private mutating func begin(_ name: RecordName) {
    row.name = name
    // Marks a row that is to be written; the hash proper is set when it is.
    row.hash = 1
    row.cells.removeAll(keepingCapacity: true)
    row.state = nil
    row.heapBytes = 0
    row.presence = .settled
  }

  private func settled(_ stamp: Stamp) -> Stamp {
    source.isAlone || fence.contains(stamp.dot) ? .settled : stamp
  }

  private mutating func add(_ field: Int, _ cell: Cell, _ stamp: Stamp, isBase: Bool) {
    let stamp = settled(stamp)
    // An absent that everybody has seen says nothing.
    if !CellTag.isValue(cell.tag), stamp.isSettled { return }
    if CellTag.isHeap(cell.tag) { row.heapBytes += Int(cell.word & 0xFF_FFFF) }
    row.cells.append(BlockBuilder.RowCell(field: field, cell: cell, stamp: stamp, isBase: isBase))
  }

  /// A row that the base has and nothing changed.
  private mutating func fill(_ below: Below, _ blockRow: Int) throws(StoreError) {
    let block = below.block
    if let range = block.complexState(blockRow) {
      let state = try TableState.state(block.bytes, range, source.ground)
      fill(block.name(blockRow), state)
      return
    }
    begin(block.name(blockRow))
    row.presence = settled(block.presence(blockRow))
    for (position, column) in block.columns.enumerated() {
      let cell = column.cell(blockRow, block.bytes)
      if cell.isNone { continue }
      let stamp = source.isAlone ? .settled : block.stamp(blockRow, column)
      add(below.fields[position], cell, stamp, isBase: true)
    }
  }

  /// A record in conflict; a plain row if nothing is left to remember.
  private mutating func fill(_ name: RecordName, _ full: RecordState) {
    var state = full
    state.closeLists()
    state.prune(fence)
    row.hash = 0
    if state.isEmpty { return }
    begin(name)
    if let plain = state.plain {
      row.presence = plain.presence
      for (field, entry) in plain.fields {
        // Text goes through the heap like everybody's.
        let cell = source.ground.cell(entry)
        add(fields.number(field), cell, entry.stamp, isBase: false)
      }
      return
    }
    var bytes: [UInt8] = []
    RecordStateCoding.encode(state, into: &bytes)
    row.state = bytes
  }

  /// A slot, with what the base has of it.
  private mutating func fill(
    _ slot: Int, _ table: TableState, _ slotFields: [Int], _ below: (Below, row: Int)?
  ) {
    row.hash = 0
    if let state = table.complex[slot] {
      fill(table.ids[slot], state)
      return
    }
    guard table.exists(slot) else { return }
    begin(table.ids[slot])
    row.presence = settled(source.ground.stamps[table.presences[slot]])
    for column in table.columns.indices {
      var cell = table.columns[column].cell(slot)
      if cell.isNone { continue }
      if cell.tag == CellTag.editedList {
        cell = source.ground.cell(of: table.lists[Int(cell.word)])
      }
      let stamp = source.ground.stamps[table.columns[column].stamp(slot)]
      add(slotFields[column], cell, stamp, isBase: false)
    }
    guard let (below, blockRow) = below, table.seesBase(slot) else { return }
    for (position, column) in below.block.columns.enumerated() {
      if let above = below.columns[position], table.columns[above].tag(slot) != CellTag.none {
        continue
      }
      let cell = column.cell(blockRow, below.block.bytes)
      if cell.isNone { continue }
      add(
        below.fields[position], cell,
        source.isAlone ? .settled : below.block.stamp(blockRow, column), isBase: true)
    }
  }
}

extension TableState {
  /// Slots in the order of their ids.
  func sortedSlots() -> [Int] {
    var packed: [(high: UInt64, low: UInt64, slot: Int)] = []
    var texts: [(name: RecordName, slot: Int)] = []
    packed.reserveCapacity(ids.count)
    for (slot, id) in ids.enumerated() {
      if case .packed(let high, let low) = id {
        packed.append((high, low, slot))
      } else {
        texts.append((id, slot))
      }
    }
    packed.sort { $0.high != $1.high ? $0.high < $1.high : $0.low < $1.low }
    texts.sort { $0.name < $1.name }
    return packed.map(\.slot) + texts.map(\.slot)
  }
}

extension RecordState {
  /// What a plain row can hold: one presence, one plain entry a field, nothing else.
  var plain: (presence: Stamp, fields: [(String, Entry)])? {
    guard tombstones.isEmpty, presences.count == 1, presences[0].born.isEmpty else { return nil }
    var result: [(String, Entry)] = []
    for (field, register) in fields {
      guard let only = register.only, only.born.isEmpty else { return nil }
      result.append((field, only))
    }
    return (presences[0].stamp, result)
  }
}
