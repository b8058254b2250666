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

  /// `progress` is called after each block with the blocks done and their number.
  package static func run(
    _ path: String, datastore: UInt128, disk: any Disk,
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
    for (table, blocks) in base.description.tables.enumerated() {
      var rows = 0
      var last: RecordName?
      for number in blocks.firstBlock..<(blocks.firstBlock + blocks.blockCount) {
        let block = try base.readUnkept(number)
        guard block.table == table else { throw damage(path, "block \(number) of another table") }
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
          try checkState(block, row, path)
        }
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

  /// What only merging needs of a record in conflict is passed over until it is changed: then it
  /// would be too late.
  private static func checkState(
    _ block: Block, _ row: Int, _ path: String
  ) throws(StoreError) {
    guard let range = block.complexState(row) else { return }
    let state: RecordState
    do { state = try RecordStateCoding.decode(block.bytes, range) } catch {
      throw StoreError(
        LogError(error, path, at: 0, "the state of record \(block.name(row).text)"))
    }
    for register in state.fields.values {
      guard register.lists.allSatisfy(\.isInTreeOrder) else {
        throw damage(path, "a list of record \(block.name(row).text) is not in its own order")
      }
    }
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
