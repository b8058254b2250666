import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

struct DeletedFileTests {
  private static let datastore: UInt128 = 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100

  @Test func `the page's example`() throws {
    let bytes = try FormatPage.example("deleted")
    let dot = Dot(device: DeviceID(rawValue: 9), sequence: 2)
    let file = DeletedFile(
      datastore: Self.datastore, time: 1_700_000_000_000, notKept: 0,
      records: [
        KeptRecord(
          dot: dot, time: 1_700_000_000_000, table: "tasks", id: RecordName("milk"),
          fields: [
            KeptRecord.Field(name: "done", value: .bool(true)),
            KeptRecord.Field(name: "name", value: .string("Milk")),
          ])
      ])
    #expect(file.encoded() == bytes)
    #expect(try DeletedFile(bytes, path: "x") == file)
  }

  @Test func `every kind of value comes back`() throws {
    let values: [FieldValue] = [
      .bool(false), .bool(true), .int(.min), .double(-0.0), .double(.nan), .date(-5), .string(""),
      .string("ä"), .bytes([]), .bytes([0, 255]), .list([]), .list([.int(1), .string("x")]),
    ]
    let record = KeptRecord(
      dot: Dot(device: DeviceID(rawValue: 1), sequence: 1), time: 7, table: "t",
      id: RecordName("r"),
      fields: values.enumerated().map { index, value in
        KeptRecord.Field(name: "f\(index)", value: value)
      })
    let file = DeletedFile(datastore: 5, time: 7, notKept: 3, records: [record, record])
    #expect(try DeletedFile(file.encoded(), path: "x") == file)
  }

  @Test func `every flipped bit and every cut is noticed`() throws {
    let bytes = try FormatPage.example("deleted")
    for length in bytes.indices {
      #expect(throws: LogError.self) { try DeletedFile(Array(bytes[..<length]), path: "x") }
    }
    for index in bytes.indices {
      var bad = bytes
      bad[index] ^= 1
      #expect(throws: LogError.self) { try DeletedFile(bad, path: "x") }
    }
  }

  /// A power cut at every step of a sync that deletes: what is gone is in the trash.
  @Test(arguments: CrashModel.all(seeds: 1..<4))
  func `whatever is lost on the way, a record is there or in the trash`(model: CrashModel) throws {
    let author = try StoreDevice(1)
    let id = RecordName("r")
    try author.store.insert(table: "t", id: id, [("n", .int(7))])
    try author.store.sync()
    let insert = try #require(try author.store.ownPack(after: 0, through: 1, limit: 1 << 20))
    try author.store.delete(table: "t", id: id)
    try author.store.sync()
    let delete = try #require(try author.store.ownPack(after: 1, through: 2, limit: 1 << 20))
    var wasThere = 0
    for step in 1..<200 {
      let device = try StoreDevice(2) { $0.trashMilliseconds = 1 << 40 }
      try device.store.sync(packs: [insert.pack])
      device.disk.powerOff(before: device.disk.operations + step)
      var isDone = true
      do { try device.store.sync(packs: [delete.pack]) } catch { isDone = false }
      try device.crash(model)
      let isThere = try device.store.exists(table: "t", id: id)
      let kept = try device.store.deletedRecords().records
      #expect(isThere == kept.isEmpty, "step \(step)")
      if isThere { wasThere += 1 } else { #expect(kept.map(\.fields.count) == [1]) }
      if isDone {
        #expect(!isThere && step > 5 && wasThere > 0)
        return
      }
    }
    Issue.record("the sync never ended")
  }
}
