import Cairn
import CairnCDB
import TestSupport
import Testing

/// The worked example of CDB.md is what the code writes and reads.
@Suite struct CDBPageTests {
  private static let records: [CDBSample.Record] = [
    (CDBSample.bytes("one"), CDBSample.bytes("Hello")), (CDBSample.bytes("two"), [1, 0x48, 0x69]),
  ]

  @Test(arguments: [CDBFormat.cdb, .cdb64])
  func `the example`(_ format: CDBFormat) throws {
    let bytes = try FormatPage.example(format.rawValue, of: "Sources/CairnCDB/CDB.md")
    #expect(try CDBSample.file(Self.records, format) == bytes)
    let file = try CDBFile(bytes: bytes)
    #expect(file.format == format)
    #expect(CDBSample.isEqual(try CDBSample.all(file), Self.records))
    for record in Self.records { #expect(try file.value(for: record.key) == record.value) }
  }

  @Test func `a value with a tag`() throws {
    let disk = MemoryDisk()
    let store = try CDBStore.texts(disk)
    try store.set("Hi", for: "two")
    try store.save()
    #expect(
      try CDBFile(disk: disk, path: "/s").value(for: CDBSample.bytes("two"))
        == Self.records[1].value)
  }
}
