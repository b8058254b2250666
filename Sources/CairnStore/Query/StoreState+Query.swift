import CairnBytes
import CairnMerge

/// Finding the records that a query's conditions leave, in no order.
extension StoreState {
  /// The records that match; skip, limit and order are for the caller.
  mutating func places(
    _ number: Int, _ plan: QueryPlan
  ) throws(StoreError) -> [TableState.Place] {
    switch plan.source {
    case .index(let view, _, let ranges): try indexed(number, plan, view, ranges)
    case .scan, .order: try scanned(number, plan)
    }
  }

  /// Whether a record that exists meets all conditions.
  mutating func matches(
    _ number: Int, _ plan: QueryPlan, _ place: TableState.Place, except settled: Int? = nil
  ) throws(StoreError) -> Bool {
    for index in plan.tests.indices where index != settled {
      let column = plan.columns[index]
      if case .slot(let slot) = place {
        let cell = tables[number].columns[column].cell(slot)
        if cell.tag != CellTag.editedList, !cell.isNone || !tables[number].seesBase(slot) {
          if !plan.tests[index].matches(cell, ground.heap) { return false }
          continue
        }
      }
      let view = try tables[number].view(place, column, &ground)
      if !plan.tests[index].matches(view) { return false }
    }
    return true
  }

  // MARK: by index

  private mutating func indexed(
    _ number: Int, _ plan: QueryPlan, _ view: IndexView, _ ranges: [KeyRange]
  ) throws(StoreError) -> [TableState.Place] {
    var result: [TableState.Place] = []
    result.reserveCapacity(plan.candidates)
    let settled = plan.settledTest
    let needsTests = plan.tests.count > (settled == nil ? 0 : 1)
    for range in ranges {
      if let base = view.base {
        for position in base.positions(range) {
          guard let place = try place(number, view.column, base: base.entries[position])
          else { continue }
          if needsTests, try !matches(number, plan, place, except: settled) { continue }
          result.append(place)
        }
      }
      guard let overlay = tables[number].indexes[view.column] else { continue }
      let (start, end) = overlay.positions(range, ground.heap)
      var position = start
      for _ in 0..<overlay.distance(start, end) {
        let entry = overlay[position]
        position = overlay.after(position)
        guard let place = place(number, view.column, overlay: entry) else { continue }
        if needsTests, try !matches(number, plan, place, except: settled) { continue }
        result.append(place)
      }
    }
    return result
  }

  // MARK: by walking

  private mutating func scanned(
    _ number: Int, _ plan: QueryPlan
  ) throws(StoreError) -> [TableState.Place] {
    var result: [TableState.Place] = []
    if let baseTable = tables[number].baseTable,
      let blocks = ground.base?.description.tables[baseTable]
    {
      for blockNumber in blocks.firstBlock..<(blocks.firstBlock + blocks.blockCount) {
        guard let block = try ground.base?.block(blockNumber) else { break }
        for row in try rows(number, plan, block, blockNumber, from: 0) {
          result.append(.base(RowPlace(block: UInt32(blockNumber), row: UInt32(row))))
        }
      }
    }
    for slot in tables[number].ids.indices where tables[number].exists(slot) {
      if try matches(number, plan, .slot(slot)) { result.append(.slot(slot)) }
    }
    return result
  }

  /// The rows of a block that match and that no slot replaces, from one row on, in order.
  mutating func rows(
    _ number: Int, _ plan: QueryPlan, _ block: Block, _ blockNumber: Int, from first: Int
  ) throws(StoreError) -> [Int] {
    let hasShadows = tables[number].shadows[UInt32(blockNumber)] != nil
    let hasComplex = block.hasComplexRows
    let fields = plan.columns.map { Int(tables[number].baseFields[$0]) }
    let found = plan.tests.first?.rows(of: block, field: fields[0]) ?? Array(0..<block.rowCount)
    if first == 0, !hasShadows, !hasComplex, plan.tests.count < 2 { return found }
    var result: [Int] = []
    rows: for row in found where row >= first {
      if hasShadows, tables[number].isShadowed(block: blockNumber, row: row) { continue }
      if hasComplex, block.complexState(row) != nil { continue }
      for index in plan.tests.indices.dropFirst()
      where !plan.tests[index].matches(block.cell(row, fields[index]), block.bytes) {
        continue rows
      }
      result.append(row)
    }
    if !hasComplex { return result }
    for row in block.complexRows
    where row >= first && !tables[number].isShadowed(block: blockNumber, row: row) {
      let place = RowPlace(block: UInt32(blockNumber), row: UInt32(row))
      guard try tables[number].baseExists(place, &ground) else { continue }
      if try matches(number, plan, .base(place)) { result.append(row) }
    }
    return result.sorted()
  }

  /// The ids of records that exist.
  mutating func names(
    _ number: Int, _ places: some Sequence<TableState.Place>
  ) throws(StoreError) -> [RecordName] {
    var result: [RecordName] = []
    result.reserveCapacity(places.underestimatedCount)
    for place in places {
      if let name = try name(number, place) { result.append(name) }
    }
    return result
  }

  @inline(__always)
  mutating func name(
    _ number: Int, _ place: TableState.Place
  ) throws(StoreError) -> RecordName? {
    switch place {
    case .slot(let slot): tables[number].ids[slot]
    case .base(let row): try ground.base?.block(Int(row.block)).name(Int(row.row))
    case .nowhere: nil
    }
  }
}
