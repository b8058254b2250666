import CairnBytes
package import CairnDisk
import CairnLog
import CairnMerge

/// Reads a snapshot to the last byte: pages, blocks, structure, and that the index finds each row.
package enum SnapshotCheck {
  package struct Result: Sendable {
    package var rows = 0
    package var blocks = 0
    package var bytes: UInt64 = 0
  }

  /// `isOthers`: it came from another device, which may have written what none of ours does.
  /// `progress` is called after each block with the blocks done and their number.
  package static func run(
    _ path: String, datastore: UInt128, disk: any Disk, isOthers: Bool = false,
    progress: (Int, Int) -> Void
  ) throws(StoreError) -> Result {
    var result = Result()
    let reader: SnapshotReader
    do throws(LogError) {
      reader = try SnapshotReader(path, disk: disk)
      guard reader.header.datastore == datastore else {
        throw LogError(.foreign, path, at: 16, "the snapshot belongs to another datastore")
      }
      try reader.verifyPages()
    } catch { throw StoreError(error) }
    var base = try BaseSnapshot(number: 0, reader: reader, budget: 0)
    let devices = base.description.vector.entries.count
    guard !isOthers || devices < FormatBounds.devicesOfOthers else {
      throw damage(path, "it names \(devices) devices, more than there is room for")
    }
    // Nobody writes those. A million of them would be looked through each time.
    guard !isOthers || base.description.tables.allSatisfy({ $0.blockCount > 0 }) else {
      throw damage(path, "it has a table without rows")
    }
    var nodes = isOthers ? nodesBeside : .max / 2
    for (table, blocks) in base.description.tables.enumerated() {
      var rows = 0
      var last: RecordName?
      for number in blocks.firstBlock..<(blocks.firstBlock + blocks.blockCount) {
        let block = try base.readUnkept(number)
        guard block.table == table else { throw damage(path, "block \(number) of another table") }
        if isOthers { nodes += nodesOfByte * block.bytes.count }
        for row in 0..<block.rowCount {
          let name = block.name(row)
          if let last, !(last < name) { throw damage(path, "rows of block \(number) out of order") }
          last = name
          if case .text(let text) = name,
            !Identifier.isValidRecord(text) || RecordName(text) != name
          {
            throw damage(path, "block \(number) has an id that no record can have")
          }
          guard try isIndexed(name, number, row, table, base) else {
            throw damage(path, "the index does not find record \(name.text) of \(blocks.name)")
          }
          let state = try checkState(block, row, path, &nodes)
          if isOthers, let state, !state.hasLists(onlyOf: base.description.canName) {
            throw nameless(path, name)
          }
        }
        if isOthers { try checkPlainLists(block, base.description, path) }
        rows += block.rowCount
        result.blocks += 1
        progress(result.blocks, reader.blockCount)
      }
      guard rows == blocks.rowCount else { throw damage(path, "\(blocks.name) has \(rows) rows") }
      result.rows += rows
    }
    result.bytes = reader.fileLength
    return result
  }

  /// So many nodes, hidden ones too, all edited lists of another's snapshot together may have: for
  /// each byte of its unpacked blocks, and beside that. A list that was filled at once and emptied
  /// takes some hundred bytes, however long it was; few have more than ten thousand items. But a
  /// record of as many bytes can say that it had millions, and each takes its time to be read.
  private static let nodesOfByte = 256
  private static let nodesBeside = 1 << 30

  /// What only merging needs of a record in conflict is passed over until it is changed: then it
  /// would be too late. Nil if there is no conflict.
  private static func checkState(
    _ block: Block, _ row: Int, _ path: String, _ nodes: inout Int
  ) throws(StoreError) -> RecordState? {
    guard let range = block.complexState(row) else { return nil }
    let state: RecordState
    do { state = try RecordStateCoding.decode(block.bytes, range, nodes: &nodes) } catch {
      throw StoreError(
        LogError(error, path, at: 0, "the state of record \(block.name(row).text)"))
    }
    for register in state.fields.values {
      guard register.lists.allSatisfy(\.isInTreeOrder) else {
        throw damage(path, "a list of record \(block.name(row).text) is not in its own order")
      }
    }
    return state
  }

  /// The lists of records that are in no conflict: column by column, since there may be a million
  /// that have next to no cells.
  private static func checkPlainLists(
    _ block: Block, _ description: SnapshotDescription, _ path: String
  ) throws(StoreError) {
    for column in block.columns {
      let count: Int
      switch column.form {
      case .ints, .dates, .doubles, .decimals, .bits: continue
      case .heap: count = CellTag.isList(column.tag) ? block.rowCount : 0
      case .mixed: count = block.rowCount
      case .sparse: count = column.count
      }
      for index in 0..<count {
        let row =
          column.form == .sparse ? Int(block.bytes.u16(at: column.start + index * 2)) : index
        guard CellTag.isList(column.cell(row, block.bytes).tag),
          !description.canName(block.stamp(row, column).dot)
        else { continue }
        throw nameless(path, block.name(row))
      }
    }
  }

  private static func nameless(_ path: String, _ name: RecordName) -> StoreError {
    damage(path, "a list of record \(name.text) is of no delta in the snapshot")
  }

  private static func isIndexed(
    _ name: RecordName, _ block: Int, _ row: Int, _ table: Int, _ base: BaseSnapshot
  ) throws(StoreError) -> Bool {
    var probe = base.reader.probe(BaseSnapshot.hash(name, salt: base.salts[table]))
    do {
      while let place = try base.reader.next(&probe) {
        if place == (block, row) { return true }
      }
    } catch { throw StoreError(error) }
    return false
  }

  private static func damage(_ path: String, _ what: String) -> StoreError {
    StoreError(LogError(.corrupt, path, what))
  }
}

extension SnapshotDescription {
  /// Whether an own edit may name a delta that is said to have made a list. If there were no such
  /// delta, nobody could read the edit, this device neither. In a local datastore edits name
  /// nothing, and lists are settled like all else.
  fileprivate func canName(_ dot: Dot) -> Bool { dot.sequence > 0 && vector.contains(dot) }
}
