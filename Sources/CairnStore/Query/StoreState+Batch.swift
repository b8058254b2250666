import CairnBytes
import CairnMerge

/// A walk over a table in the order of record ids, some records at a time: whatever happens between
/// two batches, compaction too, no id comes twice.
extension StoreState {
  /// At most `count` ids behind `last` of records that match, in the order of a snapshot; fewer
  /// only at the end.
  mutating func batch(
    _ number: Int, _ query: RecordQuery, after last: RecordName?, count: Int
  ) throws(StoreError) -> [RecordName] {
    var plan = QueryPlan(query: query)
    for condition in query.conditions {
      plan.tests.append(CellTest(condition.test))
      plan.columns.append(tables[number].column(condition.field, &ground, rules))
    }
    var result = try baseBatch(number, plan, after: last, count: count)
    let bound = result.count == count ? result.last : nil
    var own: [RecordName] = []
    for slot in tables[number].ids.indices where tables[number].exists(slot) {
      let id = tables[number].ids[slot]
      if let last, id <= last { continue }
      if let bound, id > bound { continue }
      if try matches(number, plan, .slot(slot)) { own.append(id) }
      if own.count == 2 * count {
        own.sort()
        own.removeLast(count)
      }
    }
    if own.isEmpty { return result }
    result += own
    result.sort()
    if result.count > count { result.removeLast(result.count - count) }
    return result
  }

  private mutating func baseBatch(
    _ number: Int, _ plan: QueryPlan, after last: RecordName?, count: Int
  ) throws(StoreError) -> [RecordName] {
    guard let baseTable = tables[number].baseTable,
      let blocks = ground.base?.description.tables[baseTable]
    else { return [] }
    let all = blocks.firstBlock..<(blocks.firstBlock + blocks.blockCount)
    var result: [RecordName] = []
    for blockNumber in try firstBlock(all, after: last)..<all.upperBound {
      guard let block = try ground.base?.block(blockNumber) else { break }
      let first = last.map { BlockSearch.firstRow(block, after: $0) } ?? 0
      for row in try rows(number, plan, block, blockNumber, from: first) {
        result.append(block.name(row))
        if result.count == count { return result }
      }
    }
    return result
  }

  /// The first block that may have a record behind `last`: the one before the first that begins
  /// behind it.
  private mutating func firstBlock(
    _ blocks: Range<Int>, after last: RecordName?
  ) throws(StoreError) -> Int {
    guard let last else { return blocks.lowerBound }
    let behind = try blocks.partitionPoint { number throws(StoreError) in
      guard let block = try ground.base?.block(number) else { return true }
      return block.name(0) > last
    }
    return max(blocks.lowerBound, behind - 1)
  }
}

enum BlockSearch {
  /// The first row of a block whose id is behind `last`.
  static func firstRow(_ block: Block, after last: RecordName) -> Int {
    (0..<block.rowCount).partitionPoint { block.name($0) > last }
  }
}
