import CairnDisk
import CairnLog
package import CairnMerge
import Synchronization

/// The records of a state that came as a whole, in the snapshot that it came in. They are read when
/// somebody asks for them: a list of a million takes more memory than taking the snapshot in does.
package struct ArrivedRecords: Sendable {
  private let reader: SnapshotReader
  private let tables: [SnapshotDescription.Table]

  init(_ base: BaseSnapshot) {
    reader = base.reader
    tables = base.description.tables.filter { $0.name != CutTable.name }
  }

  /// Calls `body` with each record, deleted ones not among them. Those of a block that can't be
  /// read any more are left out: it was whole when the snapshot was taken in, and reading such a
  /// record throws.
  package func forEach(_ body: (_ table: String, _ id: RecordName) -> Void) {
    var fields = FieldNumbers()
    for table in tables {
      for number in table.firstBlock..<(table.firstBlock + table.blockCount) {
        // See above: who reads such a record is told.
        guard let block = try? BaseSnapshot.read(number, reader, &fields) else { continue }
        for row in 0..<block.rowCount where ArrivedRecords.exists(row, block) {
          body(table.name, block.name(row))
        }
      }
    }
  }

  private static func exists(_ row: Int, _ block: Block) -> Bool {
    guard let range = block.complexState(row) else { return true }
    // Likewise.
    return (try? RecordStateCoding.exists(block.bytes, range)) ?? false
  }
}

extension Store {
  /// The records of the snapshot that the store stands on; nil if it has none.
  package var arrivedRecords: ArrivedRecords? {
    state.withLock { $0.store.ground.base.map(ArrivedRecords.init) }
  }
}
