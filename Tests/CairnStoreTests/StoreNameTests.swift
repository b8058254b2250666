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
    let error = #expect(throws: StoreError.self) {
      try device.store.update(table: "t", id: other, [("n", .int(2))])
    }
    #expect(error?.kind == .deleted)
    #expect(try device.store.get("Key") == ["n": 1])
  }

  @Test(arguments: [1, 20])
  func `a field in other bytes is another one, and none that can be written`(count: Int) throws {
    let device = try StoreDevice(1)
    let fields = (0..<count).map { ("K\($0)", FieldValue.int(Int64($0))) }
    try device.store.insert(table: "t", id: RecordName("r"), fields)
    for _ in 0..<3 {
      for (number, (name, value)) in fields.enumerated() {
        let other = "\u{212A}\(number)"
        #expect(other == name, "as Swift has it")
        #expect(try device.store.value(table: "t", id: RecordName("r"), field: name) == value)
        #expect(try device.store.value(table: "t", id: RecordName("r"), field: other) == nil)
        #expect(try device.store.listCount(table: "t", id: RecordName("r"), field: other) == nil)
        #expect(refusal { try device.store.set("r", [other: 7]) } == .illegalArgument)
        let found = try device.store.find(other, value)
        #expect(found.isEmpty)
        #expect(try device.store.find(name, value) == ["r"])
      }
      try device.store.sync()
      _ = try device.store.compact()
      try device.reopen()
    }
    #expect(try device.store.get("r")?.count == count)
  }

  @Test(arguments: [1, 20])
  func `a table in other bytes is another one`(count: Int) throws {
    let device = try StoreDevice(1)
    for number in 0..<count {
      let fields = [("n", FieldValue.int(Int64(number)))]
      try device.store.insert(table: "K\(number)", id: RecordName("r"), fields)
    }
    for _ in 0..<3 {
      for number in 0..<count {
        for name in ["K\(number)", "\u{212A}\(number)"] {
          let isThere = name.utf8.count < 4
          #expect(try device.store.exists(table: name, id: RecordName("r")) == isThere)
          #expect(try device.store.count(table: name) == (isThere ? 1 : 0))
        }
      }
      try device.store.sync()
      _ = try device.store.compact()
      try device.reopen()
    }
    #expect(try device.store.tables().map(\.count) == Array(repeating: 1, count: count))
  }

  @Test func `an index on a field answers for no field in other bytes`() throws {
    let device = try StoreDevice(1)
    try device.store.insert("r", ["Key": 1])
    try device.store.addIndex(IndexName(table: "t", field: "Key"))
    for _ in 0..<2 {
      #expect(try device.store.find("Key", 1) == ["r"])
      #expect(try device.store.find("\u{212A}ey", 1).isEmpty)
      try device.store.sync()
      _ = try device.store.compact()
    }
  }

  /// A name that can't be one would be in the log then, which nobody could read any more.
  @Test func `a name that was read is no more writable than before`() throws {
    let device = try StoreDevice(1)
    try device.store.insert("r", ["n": 1])
    for name in ["a b", "", "\u{212A}", String(repeating: "n", count: 65)] {
      #expect(try device.store.value(table: "t", id: RecordName("r"), field: name) == nil)
      #expect(try device.store.isBegunList(table: "t", id: RecordName("r"), field: name) == false)
      #expect(refusal { try device.store.set("r", [name: 2]) } == .illegalArgument)
    }
    try device.store.sync()
    try device.reopen()
    #expect(try device.store.get("r") == ["n": 1])
  }
}
