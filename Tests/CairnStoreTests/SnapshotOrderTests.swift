import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// Snapshots whose checksums are right and whose rows are not: nothing that another device has made
/// so is taken in.
struct SnapshotOrderTests {
  private static let datastore = SnapshotFileTests.datastore

  /// What a full read says of a snapshot; nil if it is good.
  private func refusal(of bytes: [UInt8]) throws -> String? {
    let disk = MemoryDisk()
    try disk.setBytes("/s.snap", bytes)
    do {
      _ = try SnapshotCheck.run("/s.snap", datastore: Self.datastore, disk: disk) { _, _ in }
      return nil
    } catch {
      #expect(error.log?.reason == .corrupt && error.log?.path == "/s.snap")
      return error.message
    }
  }

  private func rows(_ names: [RecordName]) -> [SampleRow] {
    names.map { SampleRow($0, settled: [("n", .int(1))]) }
  }

  private func snapshot(
    _ names: [RecordName], hashed: [RecordName: RecordName] = [:]
  ) throws -> [UInt8] {
    try BlockSample.snapshot([("t", rows(names))], datastore: Self.datastore, hashed: hashed)
  }

  @Test func `rows that are not in order, or twice there, are damage`() throws {
    #expect(try refusal(of: snapshot([packed(1), packed(2), packed(3)])) == nil)
    for numbers in [[2, 1], [1, 1], [1, 3, 2]] {
      let found = try refusal(of: snapshot(numbers.map { packed($0) }))
      #expect(found?.contains("out of order") == true, "\(numbers)")
    }
    // Also from one block to the next: ids of the two kinds are never in one.
    let (number, text) = (packed(1), RecordName.text("a"))
    #expect(try refusal(of: snapshot([number, text])) == nil)
    #expect(try refusal(of: snapshot([text, number]))?.contains("out of order") == true)
  }

  @Test func `a row that the index does not find is damage`() throws {
    let names = (1...20).map { packed($0) }
    #expect(try refusal(of: snapshot(names)) == nil)
    for name in [names[0], names[7], names[19]] {
      let found = try refusal(of: snapshot(names, hashed: [name: packed(77)]))
      #expect(found?.contains("does not find record \(name.text) of t") == true)
    }
  }

  /// Two rows in one block, and what is said of them.
  private func handmade(table: Int = 0, hashes: Int = 2, rowCount: Int = 2) throws -> [UInt8] {
    let disk = MemoryDisk()
    let file = try disk.open("/s.snap", .create)
    let writer = SnapshotWriter(file: file, datastore: Self.datastore)
    let all = rows([packed(1), packed(2), packed(3)])
    var sample = BlockSample()
    let block = sample.block(Array(all.prefix(2)), table: table)
    try writer.add(block: block, hashes: all.prefix(hashes).map { BlockSample.hash($0, in: "t") })
    var description = SnapshotDescription()
    description.tables = [
      SnapshotDescription.Table(name: "t", firstBlock: 0, blockCount: 1, rowCount: rowCount)
    ]
    description.recordCount = rowCount
    _ = try writer.finish(description: description.encoded())
    return try #require(disk.bytes("/s.snap"))
  }

  @Test func `what is said of the rows has to be so`() throws {
    #expect(try refusal(of: handmade()) == nil)
    #expect(try refusal(of: handmade(table: 1))?.contains("another table") == true)
    let all = try refusal(of: handmade(hashes: 3, rowCount: 3))
    #expect(all?.contains("t has 2 rows") == true)
    #expect(try refusal(of: handmade(rowCount: 3))?.contains("3 rows, and 2 in") == true)
    #expect(try refusal(of: handmade(hashes: 3))?.contains("2 rows, and 3 in") == true)
  }
}
