import CairnLog
package import CairnMerge

/// What a repair finds in the snapshot where the log has lost the deltas that wrote it.
extension Store {
  /// What the snapshot has of a device's deltas that a store which has seen so much does not have:
  /// values, removals and deletes that still count, but no edits inside of lists.
  package func written(
    by device: DeviceID, beyond seen: VersionVector
  ) throws(StoreError) -> [TouchedRecord] {
    try withState { guarded throws(StoreError) in
      let ground = guarded.store.ground
      guard var base = ground.base else { return [] }
      let tables = base.description.tables
      var result: [TouchedRecord] = []
      for number in 0..<base.reader.blockCount {
        let block = try base.block(number)
        guard block.table < tables.count else { continue }
        let (table, names) = (tables[block.table].name, base.fields.names)
        for row in 0..<block.rowCount {
          for write in try block.writes(row, names, ground) {
            guard write.dot.device == device, !seen.contains(write.dot) else { continue }
            result.append(write.touched(table, block.name(row)))
          }
        }
      }
      return result
    }
  }
}

private struct SnapshotWrite {
  var dot: Dot
  /// Nil if the record was deleted.
  var field: String?
  var isRemoval = false

  func touched(_ table: String, _ id: RecordName) -> TouchedRecord {
    guard let field else {
      return TouchedRecord(dot: dot, table: table, id: id, isDeleted: true, fields: [])
    }
    return TouchedRecord(
      dot: dot, table: table, id: id, isDeleted: false, fields: [field],
      removed: isRemoval ? [field] : [], folded: [field])
  }
}

extension Block {
  /// What a record was made by, as far as that is remembered; its deletes first.
  fileprivate func writes(
    _ row: Int, _ names: [String], _ ground: Ground
  ) throws(StoreError) -> [SnapshotWrite] {
    var result: [SnapshotWrite] = []
    guard let range = complexState(row) else {
      for column in columns {
        let cell = column.cell(row, bytes)
        if cell.isNone { continue }
        result.append(
          SnapshotWrite(
            dot: stamp(row, column).dot, field: names[column.field],
            isRemoval: !CellTag.isValue(cell.tag)))
      }
      return result
    }
    let state = try TableState.state(bytes, range, ground)
    for tombstone in state.tombstones { result.append(SnapshotWrite(dot: tombstone.dot)) }
    for (field, register) in state.fields {
      for entry in register.entries {
        result.append(
          SnapshotWrite(dot: entry.stamp.dot, field: field, isRemoval: entry.value == nil))
      }
      for total in register.totals {
        result.append(SnapshotWrite(dot: total.stamp.dot, field: field))
      }
    }
    return result
  }
}
