import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// The same content makes the same bytes, whatever way it took.
struct SnapshotCanonicalTests {
  private func open(_ disk: MemoryDisk, linked: Bool, seed: UInt64 = 1) throws -> Store {
    var options = StoreOptions()
    options.compactsAutomatically = false
    return try Store.open(
      "/store", datastore: 7, isLinked: linked, options: options,
      machine: Machine(disk: disk, clock: ManualClock(), random: SeededRandom(seed)))
  }

  private func snapshot(_ store: Store, _ disk: MemoryDisk) throws -> [UInt8] {
    _ = try store.compact()
    let file = try #require(store.snapshotFile())
    return try #require(disk.bytes(file.path))
  }

  private static let fields: [(String, FieldValue)] = [
    ("name", .string("naïve")), ("done", .bool(true)), ("due", .date(5)), ("n", .int(3)),
    ("price", .double(0.25)), ("tags", .list([.string("a")])), ("raw", .bytes([1])),
  ]

  @Test func `the order of insertion does not show`() throws {
    var files: Set<[UInt8]> = []
    for seed in 0..<4 as Range<UInt64> {
      let random = SeededRandom(seed)
      var generator = random
      let disk = MemoryDisk()
      let store = try open(disk, linked: false)
      for index in Array(0..<400).shuffled(using: &generator) {
        let name: RecordName = index % 2 == 0 ? .packed(1, UInt64(index)) : .text("r\(index)")
        let fields = Self.fields.dropFirst(index % 7).shuffled(using: &generator)
        try store.insert(
          table: index % 3 == 0 ? "b" : "a", id: name, fields.map { ($0.0, $0.1) })
      }
      _ = try store.sync()
      files.insert(try snapshot(store, disk))
      try store.close()
    }
    #expect(files.count == 1)
  }

  @Test func `a snapshot of a snapshot is the same`() throws {
    let disk = MemoryDisk()
    let store = try open(disk, linked: false)
    for index in 0..<500 {
      try store.insert(
        table: "t", id: .text("r\(index)"), Self.fields.dropFirst(index % 8).map { ($0.0, $0.1) })
    }
    _ = try store.sync()
    let first = try snapshot(store, disk)
    #expect(try snapshot(store, disk) == first)
    try store.close()
    let again = try open(disk, linked: false)
    #expect(try snapshot(again, disk) == first)
    try again.close()
  }

  /// A list that was opened is made anew from its items; elsewhere its bytes are what came.
  @Test(arguments: [false, true])
  func `a NaN in a list shows neither whose it was nor who has looked`(isCreated: Bool) throws {
    let nan = FieldValue.double(Double(bitPattern: 0xFFF8_0000_0000_0000))
    let name = RecordName("r")
    let author = try StoreDevice(1)
    try author.store.insert("r", isCreated ? [:] : ["l": .list([nan, 1])])
    if isCreated {
      for item in [nan, 1] {
        try author.store.edit(table: "t", id: name, field: "l", .append(item))
      }
    }
    try author.store.sync()
    let pack = try author.store.pack()
    let (reader, editor) = (try StoreDevice(2), try StoreDevice(3))
    for device in [reader, editor] { _ = try device.store.sync(packs: [pack]) }
    try editor.store.edit(table: "t", id: name, field: "l", .append(2))
    try editor.store.rollBack()
    for device in [author, reader, editor] { _ = try device.store.compact() }
    let bytes = try #require(author.snapshotBytes())
    #expect(reader.snapshotBytes() == bytes)
    #expect(editor.snapshotBytes() == bytes)
    guard case .list(let items)? = try reader.store.get("r")?["l"],
      case .double(let number)? = items.first
    else {
      Issue.record("there is no such list")
      return
    }
    #expect(number.bitPattern == 0x7FF8_0000_0000_0000)
  }

  /// Two authors' deltas reach two readers in different orders, and one of them folds in between.
  @Test func `the order of delivery does not show`() throws {
    var packs: [[UInt8]] = []
    for author in 1...2 as ClosedRange<UInt64> {
      let store = try open(MemoryDisk(), linked: true, seed: author)
      for round in 0..<4 {
        for index in 0..<30 {
          let name = RecordName.text("r\(index)")
          let value = FieldValue.string("author \(author) round \(round)")
          let field = Self.fields[(index + round + Int(author)) % 7].0
          if try store.exists(table: "t", id: name) {
            try store.update(table: "t", id: name, [(field, value)])
          } else {
            try store.insert(table: "t", id: name, [(field, value)])
          }
        }
        if round == 2 { try store.delete(table: "t", id: .text("r3")) }
        _ = try store.sync()
      }
      let pack = try #require(try store.ownPack(after: 0, through: 4, limit: 1 << 20))
      packs.append(pack.pack)
      try store.close()
    }
    var files: [[UInt8]] = []
    for order in [[0, 1], [1, 0], [0, 1]] {
      let disk = MemoryDisk()
      let store = try open(disk, linked: true, seed: 50 + UInt64(files.count))
      _ = try store.sync(packs: [packs[order[0]]])
      if files.count == 2 { _ = try store.compact() }
      _ = try store.sync(packs: [packs[order[1]]])
      files.append(try snapshot(store, disk))
      try store.close()
    }
    #expect(files[0] == files[1])
    #expect(files[0] == files[2])
  }
}
