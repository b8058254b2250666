import CairnDisk
import CairnMerge
import Synchronization
import TestSupport

@testable import CairnStore

/// The rows of a snapshot in words, stamps and all: what two that should be equal differ in.
func snapshotRows(_ device: StoreDevice) throws -> [String] {
  let state = device.store.state.withLock { $0.store }
  guard var base = state.ground.base else { return [] }
  var rows = ["\(base.description)"]
  for table in base.description.tables {
    for number in table.firstBlock..<(table.firstBlock + table.blockCount) {
      let block = try base.block(number)
      for row in 0..<block.rowCount {
        let name = "\(table.name)/\(block.name(row).text)"
        if let range = block.complexState(row) {
          rows.append("\(name) \(try RecordStateCoding.decode(block.bytes, range))")
          continue
        }
        rows.append("\(name) inserted by \(block.presence(row).dot)")
        for column in block.columns where !column.cell(row, block.bytes).isNone {
          let value = column.cell(row, block.bytes).value(block.bytes)
          let field = base.fields.names[column.field]
          let stamp = block.stamp(row, column)
          rows.append("\(name).\(field) = \(value.map { "\($0)" } ?? "absent") by \(stamp.dot)")
        }
      }
    }
  }
  return rows
}
