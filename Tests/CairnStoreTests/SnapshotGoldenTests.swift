import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// A snapshot of version 1 with every form of a column, stamps, and a record in conflict.
struct SnapshotGoldenTests {
  private func rows(_ count: Int) -> [SampleRow] {
    var rows: [SampleRow] = []
    for index in 0..<count {
      var row = SampleRow(packed(index), presence: stamp(1, index + 1))
      for (form, column) in BlockFormTests.columns.enumerated() where form != 14 {
        // Full columns of each form, and one in eight of the rows for the sparse form.
        let value = column.values[index % column.values.count]
        row.fields.append(("f\(form)", value, form % 3 == 0 ? stamp(2, index + 1) : .settled))
        if index % 8 == 0, form == 11 { row.fields.append(("rare", value, .settled)) }
      }
      rows.append(row)
    }
    rows.append(
      SampleRow(
        packed(count),
        state: RecordState(
          presences: [
            Presence(stamp: stamp(1, 2), born: []), Presence(stamp: stamp(2, 2), born: []),
          ],
          fields: ["f0": Register(.int(9), stamp: stamp(2, 2))])))
    rows.append(SampleRow(.text("a-text-id"), settled: []))
    return rows
  }

  private func check(_ bytes: [UInt8], _ rows: [SampleRow]) throws {
    let disk = MemoryDisk()
    try disk.setBytes("/s.snap", bytes)
    _ = try SnapshotCheck.run("/s.snap", datastore: SnapshotFileTests.datastore, disk: disk) {
      _, _ in
    }
    var base = try BaseSnapshot(
      number: 1, reader: try SnapshotReader("/s.snap", disk: disk), budget: 0)
    for row in rows {
      let place = try #require(try base.find(row.name, table: 0))
      let block = try base.block(Int(place.block))
      let expected = Dictionary(uniqueKeysWithValues: row.fields.map { ($0.0, $0.1) })
      #expect(block.content(Int(place.row), base.fields) == expected)
      if row.state == nil { #expect(block.presence(Int(place.row)) == row.presence) }
      let state = try block.complexState(Int(place.row)).map {
        try RecordStateCoding.decode(block.bytes, $0)
      }
      #expect(state == row.state)
    }
  }

  /// What LZ4 makes may differ from one version of it to the next, so bytes are compared unpacked.
  @Test func `a snapshot`() throws {
    let rows = rows(40)
    let written = try BlockSample.snapshot(
      [("t", rows)], datastore: SnapshotFileTests.datastore)
    let bytes = try GoldenFile.bytes("forms.snap", written: written)
    try check(bytes, rows)
    try check(written, rows)
    #expect(try blocks(bytes) == blocks(written))
  }

  @Test func `an empty snapshot`() throws {
    let written = try BlockSample.snapshot([], datastore: SnapshotFileTests.datastore)
    let bytes = try GoldenFile.bytes("empty.snap", written: written)
    #expect(bytes == written)
    try check(bytes, [])
  }

  private func blocks(_ bytes: [UInt8]) throws -> [[UInt8]] {
    let disk = MemoryDisk()
    try disk.setBytes("/s.snap", bytes)
    let reader = try SnapshotReader("/s.snap", disk: disk)
    return try (0..<reader.blockCount).map { try reader.block($0) }
  }
}
