import CairnMerge
import CairnStore
import TestSupport
import Testing

@Suite struct StoreNameTests {
  /// U+212A means the same as "K", and Swift's `==` says so.
  @Test func `an id in other bytes finds nothing, also right after the record was found`() throws {
    let device = try StoreDevice(1)
    let other = RecordName("\u{212A}ey")
    #expect(other != RecordName("Key"))
    try device.store.insert("Key", ["n": 1])
    try device.store.sync()
    #expect(try device.store.get("Key") == ["n": 1])
    #expect(try device.store.get("\u{212A}ey") == nil)
    #expect(throws: StoreError.self) {
      try device.store.update(table: "t", id: other, [("n", .int(2))])
    }
    #expect(try device.store.get("Key") == ["n": 1])
  }
}
