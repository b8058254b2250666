import Cairn
import TestSupport
import Testing

/// Lists of models that are empty, absent, or begun by several devices.
@Suite struct TypedListTests {
  struct Settings: TableModel, Equatable {
    static let table = "settings"

    var name = "x"
    var tags: [String] = []
    var groups: Set<String> = []
  }

  // MARK: two devices

  @Test func `what devices put into lists of a record that each had inserted is all there`()
    async throws
  {
    let devices = try TwoDevices()
    for (device, tag) in [(devices.a, "a"), (devices.b, "b")] {
      let table = try device.table(of: Settings.self)
      #expect(try table.getOrInsert("settings", Settings()).inserted)
      try table.update("settings") {
        $0.tags.append(tag)
        $0.groups.insert(tag)
      }
      try device.sync()
    }
    try await devices.meet()
    for device in [devices.a, devices.b] {
      let settings = try #require(try device.table(of: Settings.self).get("settings"))
      #expect(settings.tags.sorted() == ["a", "b"])
      #expect(settings.groups == ["a", "b"])
    }
    #expect(
      try devices.a.table("settings")["settings"].fields
        == devices.b.table("settings")["settings"].fields)
  }

  @Test(arguments: ["append", "update", "whole"])
  func `it is so however the items get there, and when the insertion was synced before`(
    _ way: String
  ) async throws {
    let devices = try TwoDevices()
    for (device, tag) in [(devices.a, "a"), (devices.b, "b")] {
      let table = try device.table(of: Settings.self)
      try table.insert(Settings(), id: "s")
      try device.sync()
      switch way {
      case "append": try table.table["s"].list("tags").append(.string(tag))
      case "update": try table.update("s") { $0.tags.append(tag) }
      default: try table.update("s", Settings(tags: [tag]))
      }
      try device.sync()
    }
    try await devices.meet()
    for device in [devices.a, devices.b] {
      #expect(try device.table(of: Settings.self).get("s")?.tags.sorted() == ["a", "b"])
    }
  }

  @Test func `of lists that are inserted with items one wins as a whole`() async throws {
    let devices = try TwoDevices()
    for (device, tag) in [(devices.a, "a"), (devices.b, "b")] {
      try device.table(of: Settings.self).insert(Settings(tags: [tag, "both"]), id: "s")
      try device.sync()
    }
    try await devices.meet()
    let tags = try #require(try devices.a.table(of: Settings.self).get("s")).tags
    #expect(tags == ["a", "both"] || tags == ["b", "both"])
    #expect(try devices.b.table(of: Settings.self).get("s")?.tags == tags)
  }

  @Test func `a list that one device empties keeps what another puts in`() async throws {
    let devices = try TwoDevices()
    let a = try devices.a.table(of: Settings.self)
    let b = try devices.b.table(of: Settings.self)
    try a.insert(Settings(), id: "s")
    try a.update("s") { $0.tags = ["old"] }
    try await devices.meet()
    try a.update("s") { $0.tags = [] }
    try b.update("s") { $0.tags.append("new") }
    try await devices.meet()
    #expect(try a.get("s")?.tags == ["new"])
    #expect(try b.get("s")?.tags == ["new"])
  }

  struct Numbers: TableModel, Equatable {
    static let table = "numbers"
    static let rules: [String: ResolutionRule] = ["l": .max]

    var l: [Int]
  }

  @Test(arguments: [[4], [4, 4, 4]])
  func `an update of the greater of two lists makes it what it says`(theirs: [Int]) async throws {
    let devices = try TwoDevices()
    let a = try devices.a.table(of: Numbers.self)
    let b = try devices.b.table(of: Numbers.self)
    try a.insert(Numbers(l: [5, 1]), id: "r")
    try b.insert(Numbers(l: theirs), id: "r")
    try await devices.meet()
    #expect(try a.get("r") == Numbers(l: [5, 1]))
    try a.update("r") { $0.l = [3, 1, 7] }
    #expect(try a.get("r") == Numbers(l: [3, 1, 7]))
    try await devices.meet()
    for table in [a, b] { #expect(try table.get("r") == Numbers(l: [3, 1, 7])) }
  }

  // MARK: absent and empty

  private let bench: TypedBench
  private let table: TypedTable<Settings>

  init() throws {
    bench = try TypedBench()
    table = try bench.datastore.table(of: Settings.self)
  }

  private var pending: Int { bench.datastore.unsyncedChangesSize }

  @Test func `an empty list is not inserted, and reads as empty`() throws {
    let inserted = try table.insert(Settings(), id: "s")
    #expect(inserted.value == Settings())
    #expect(try table.table["s"].fields == ["name": "x"])
    #expect(try table.get("s") == Settings())
    #expect(try table.records().map(\.value) == [Settings()])
    let trip = try bench.roundTrip(Settings(tags: ["a"]))
    #expect(trip.fields == ["name": "x", "tags": ["a"]])
    #expect(trip.value == Settings(tags: ["a"]))
  }

  @Test func `absent and empty are no difference to an update`() throws {
    try table.insert(Settings(), id: "absent")
    try table.table.insert(["name": "x", "tags": [], "groups": []], id: "empty")
    try bench.datastore.sync()
    for id: RecordID in ["absent", "empty"] {
      try table.update(id, Settings())
      try table.update(id) { $0.name = "x" }
      #expect(pending == 0)
      try table.update(id) { $0.tags.append("a") }
      #expect(pending == 100 + 100 + 100 + 21, "one item of one list")
      #expect(try table.get(id) == Settings(tags: ["a"]))
      try bench.datastore.sync()
      try table.update(id, Settings())
      #expect(try table.table[id].listValues("tags") == [])
      #expect(try table.get(id) == Settings())
      try bench.datastore.sync()
    }
  }

  @Test func `a list is begun wholly, or not at all`() throws {
    let bench = try TypedBench { $0.limits.recordBytes = 1000 }
    let table = try bench.datastore.table(of: Settings.self)
    try table.insert(Settings(), id: "s")
    try bench.datastore.sync()
    let error = #expect(throws: CairnError.self) {
      try table.update("s") {
        $0.name = "y"
        $0.tags = ["a", String(repeating: "x", count: 900)]
      }
    }
    #expect(error?.code == .sizeLimit)
    #expect(bench.datastore.unsyncedChangesSize == 0)
    #expect(try table.get("s") == Settings())
    #expect(try table.table["s"].fields == ["name": "x"])
  }

  @Test func `a list that was begun lasts, and a rollback takes it back`() throws {
    try table.insert(Settings(), id: "s")
    try bench.datastore.sync()
    let size = bench.datastore.size
    try table.update("s") { $0.groups = ["b", "a"] }
    #expect(bench.datastore.size == size + 100 + 42)
    try bench.datastore.rollback()
    #expect(try table.table["s"].fields == ["name": "x"])
    #expect(bench.datastore.size == size)
    try table.update("s") { $0.groups = ["b", "a"] }
    try bench.datastore.sync()
    try bench.datastore.close()
    let again = try bench.datastore.manager.openDefaultDatastore()
    #expect(try again.table(of: Settings.self).get("s")?.groups == ["a", "b"])
    #expect(again.size == size + 100 + 42)
  }

  // MARK: optional ones, and what is no list

  struct Maybe: Codable, Sendable, Equatable {
    var tags: [String]?
  }

  @Test func `nil and empty are two values of an optional array`() throws {
    let table = try bench.table(of: Maybe.self)
    try table.insert(Maybe(), id: "nil")
    try table.insert(Maybe(tags: []), id: "empty")
    #expect(try table.table["nil"].fields == [:])
    #expect(try table.table["empty"].fields == ["tags": []])
    #expect(try table.get("nil") == Maybe())
    #expect(try table.get("empty") == Maybe(tags: []))
    try table.update("nil") { $0.tags = [] }
    try table.update("empty", Maybe())
    #expect(try table.table["nil"].fields == ["tags": []])
    #expect(try table.table["empty"].fields == [:])
  }

  @Test func `a dictionary keeps its empty lists`() throws {
    let model: [String: [String]] = ["a": [], "b": ["c"]]
    let result = try bench.roundTrip(model)
    #expect(result.value == model)
    #expect(result.fields == ["a": [], "b": ["c"]])
  }

  struct Flags: OptionSet, Codable, Sendable, Hashable {
    var rawValue: Int
  }

  struct Others: Codable, Sendable, Equatable {
    var flags: Flags = []
    var bytes: [UInt8] = []
    var value: Value = []
    var blobs: ContiguousArray<[UInt8]> = []
  }

  @Test func `what is no list is written also when it is empty`() throws {
    let result = try bench.roundTrip(Others())
    #expect(result.fields == ["flags": 0, "bytes": .bytes([]), "value": []])
    #expect(result.value == Others())
    let other = try TypedBench()
    let error = try other.readingError(Others.self, ["bytes": .bytes([]), "value": []])
    #expect(error?.message.contains("field flags: ") == true)
    #expect(error?.message.contains("the record has no such field") == true)
  }
}
