import Cairn
import TestSupport
import Testing

/// Records that are not what the model expects: what is said, what is tolerated.
@Suite struct TypedReadingTests {
  private let bench: TypedBench

  init() throws { bench = try TypedBench() }

  struct One<Content: Codable & Sendable>: Codable, Sendable {
    var content: Content
  }

  private static let values: [(kind: String, value: Value, words: String)] = [
    ("bool", true, "bool true"), ("int", 300, "int 300"), ("double", 0.5, "double 0.5"),
    ("string", "mauve", "string \"mauve\""), ("bytes", .bytes([1, 2]), "2 bytes"),
    ("date", .date(Timestamp(millisecondsSince1970: 7)), "date 7"),
    ("list", ["x", 1], "a list of 2"),
  ]

  /// All kinds of values but some are wrong for a type, and the error names both.
  private func expectMismatches<Content: Codable & Sendable>(
    _ type: Content.Type, as form: String? = nil, but right: Set<String>,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let expected = "\(type)" + (form.map { " (\($0))" } ?? "")
    for (kind, value, words) in TypedReadingTests.values where !right.contains(kind) {
      let error = try bench.readingError(
        One<Content>.self, ["content": value], sourceLocation: sourceLocation)
      #expect(error?.code == .badType, sourceLocation: sourceLocation)
      #expect(error?.id == "content", sourceLocation: sourceLocation)
      #expect(
        error?.message
          == "table things, record r, field content: One<\(type)> expects \(expected) there and "
          + "the record has \(words); change the type of the property, or set the field anew",
        sourceLocation: sourceLocation)
    }
  }

  @Test func `every type says what it expects and what it found`() throws {
    try expectMismatches(Bool.self, but: ["bool"])
    try expectMismatches(Int8.self, but: [])
    try expectMismatches(UInt64.self, but: ["int"])
    try expectMismatches(Double.self, but: ["double", "int"])
    try expectMismatches(Float.self, but: ["double", "int"])
    try expectMismatches(String.self, but: ["string"])
    try expectMismatches([UInt8].self, but: ["bytes"])
    try expectMismatches(Timestamp.self, but: ["date"])
    try expectMismatches(Color.self, as: "String", but: ["string"])
    try expectMismatches(Level.self, as: "Int", but: ["int"])
    try expectMismatches(RecordID.self, as: "String", but: ["string"])
    #expect(
      try bench.readingError(One<Color>.self, ["content": "mauve"])?.message
        == "table things, record r, field content: One<Color> expects Color there and does not "
        + "take the record's string \"mauve\"; written by another version of the app? see "
        + "records(_:unreadable:)")
    try expectMismatches([String].self, but: ["list"])
    try expectMismatches(Set<Int>.self, but: ["list"])
  }

  @Test func `a wrong item is named`() throws {
    let error = try bench.readingError(One<[String]>.self, ["content": ["x", 1]])
    #expect(
      error?.message
        == "table things, record r, field content, item 1: One<Array<String>> expects String there "
        + "and the record has int 1; change the type of the property, or set the field anew")
    let colors = try bench.readingError(One<[Color]>.self, ["content": ["red", "mauve"]])
    #expect(colors?.message.contains("item 1: ") == true)
    #expect(colors?.message.contains("does not take the record's string \"mauve\"") == true)
  }

  @Test func `a missing field is said to be missing`() throws {
    for error in [
      try bench.readingError(One<Int>.self, [:]), try bench.readingError(One<Int>.self, ["x": 1]),
    ] {
      #expect(error?.code == .badType)
      #expect(
        error?.message
          == "table things, record r, field content: One<Int> expects Int there and the record has "
          + "no such field; make the property optional, or give it a default in init(from:)")
    }
    for error in [
      try bench.readingError(One<Color>.self, [:]), try bench.readingError(One<Value>.self, [:]),
      try bench.readingError(One<[UInt8]>.self, [:]), try bench.readingError(One<Bool>.self, [:]),
      try bench.readingError(One<Timestamp>.self, [:]),
      try bench.readingError(One<Float>.self, [:]),
    ] {
      #expect(error?.message.contains("the record has no such field") == true)
    }
  }

  @Test func `integers that are out of range`() throws {
    for (error, words) in [
      (try bench.readingError(One<Int8>.self, ["content": 128]), "Int8 there and"),
      (try bench.readingError(One<UInt>.self, ["content": -1]), "UInt there and"),
      (try bench.readingError(One<UInt128>.self, ["content": -1]), "has int -1"),
      (try bench.readingError(One<[UInt16]>.self, ["content": [1, 70_000]]), "has int 70000"),
      (try bench.readingError(One<Float>.self, ["content": 1e300]), "has double 1e+300"),
      (
        try bench.readingError(One<Double>.self, ["content": 9_007_199_254_740_993]),
        "has int 9007199254740993"
      ),
    ] {
      #expect(error?.code == .badType)
      #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
  }

  @Test func `an exact integer is a double`() throws {
    let table = try bench.table(of: One<Double>.self)
    try table.table.insert(["content": 3], id: "r")
    #expect(try table.get("r")?.content == 3)
    #expect(try table.records(where: ["content": 3.0]).map(\.value.content) == [3])
    try bench.datastore.sync()
    try table.update("r") { $0.content = 3 }
    #expect(bench.datastore.unsyncedChangesSize == 0)
    #expect(try table.table["r"].get("content") == 3)
  }

  @Test func `a dictionary is refused when it is read, too`() throws {
    let error = try bench.readingError(One<[String: Int]>.self, ["content": "x"])
    #expect(error?.message.contains("can't hold a dictionary") == true)
  }

  struct Tolerant: Codable, Sendable, Equatable {
    var title: String
    var done: Bool
    var stars: Int
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      title = try container.decode(String.self, forKey: .title)
      done = try container.decodeIfPresent(Bool.self, forKey: .done) ?? false
      do { stars = try container.decode(Int.self, forKey: .stars) } catch is DecodingError {
        stars = -1
      }
    }
  }

  @Test func `a model has defaults through its own init, and may catch errors`() throws {
    let table = try bench.table(of: Tolerant.self)
    try table.table.insert(["title": "x", "stars": "many"], id: "r")
    let model = try #require(try table.get("r"))
    #expect(!model.done && model.stars == -1)
    try bench.datastore.sync()
    try table.update("r") { $0.title = "y" }
    #expect(try table.table["r"].fields == ["title": "y", "stars": "many"])
  }

  struct Picky: Codable, Sendable {
    struct Complaint: Error {}
    var way: Int
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      way = try container.decode(Int.self, forKey: .way)
      if way == 0 { throw Complaint() }
      throw DecodingError.dataCorruptedError(
        forKey: .way, in: container, debugDescription: "way is \(way)")
    }
  }

  @Test func `a model's own errors get a place`() throws {
    let own = try bench.readingError(Picky.self, ["way": 0])
    #expect(own?.code == .badType)
    #expect(own?.message == "table things, record r: Picky can't be coded: Complaint()")
    let usual = try bench.readingError(Picky.self, ["way": 7])
    #expect(usual?.code == .badType)
    #expect(usual?.message == "table things, record r, field way: way is 7")
  }

  struct Pair: Codable, Sendable, Equatable {
    var first: Int
    var second: String
    init(from decoder: any Decoder) throws {
      var list = try decoder.container(keyedBy: Keys.self).decode(Both.self, forKey: .pair)
      (first, second) = (list.first, list.second)
      list.first = 0
    }
    enum Keys: String, CodingKey { case pair }
    struct Both: Decodable {
      var first: Int
      var second: String
      init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        #expect(try !list.decodeNil())
        #expect(throws: DecodingError.self) { try list.decode(String.self) }
        #expect(list.currentIndex == 0, "a failure does not go on")
        first = try list.decode(Int.self)
        second = try list.decode(String.self)
        #expect(list.isAtEnd)
        #expect(throws: DecodingError.self) { try list.decode(String.self) }
        #expect(throws: DecodingError.self) { try decoder.singleValueContainer().decode(Int.self) }
      }
    }
    func encode(to encoder: any Encoder) throws {}
  }

  @Test func `a list of different types is read item by item`() throws {
    let table = try bench.table(of: Pair.self)
    try table.table.insert(["pair": [5, "five"]], id: "r")
    let pair = try #require(try table.get("r"))
    #expect(pair.first == 5 && pair.second == "five")
    try table.table["r"].set("pair", [5])
    let error = #expect(throws: CairnError.self) { try table.get("r") }
    #expect(
      error?.message
        == "table things, record r, field pair: Pair expects more than the 1 items of the list")
  }

  // MARK: many records

  struct Task: Codable, Sendable, Equatable {
    var title: String
    var done: Bool
  }

  @Test func `records are found by equality and come decoded`() throws {
    let table = try bench.table(of: Task.self)
    #expect(try table.records().isEmpty)
    for i in 0..<10 {
      try table.insert(Task(title: "t\(i)", done: i % 3 == 0), id: RecordID("r\(i)"))
    }
    #expect(try table.count == 10)
    let done = try table.records(where: ["done": true]).sorted { $0.id < $1.id }
    #expect(done.map(\.id) == ["r0", "r3", "r6", "r9"])
    #expect(done.map(\.value.title) == ["t0", "t3", "t6", "t9"])
    #expect(done.map(\.record) == done.map { table.table[$0.id] })
    #expect(try table.records(where: ["done": true, "title": "t3"]).map(\.id) == ["r3"])
    #expect(try table.records(where: ["done": 1]).isEmpty)
    #expect(try table.records().count == 10)
    #expect(throws: CairnError.self) { try table.records(where: ["no name": 1]) }
  }

  @Test func `one record that can't be read is an error, or left out and reported`() throws {
    let table = try bench.table(of: Task.self)
    try table.insert(Task(title: "a", done: true), id: "a")
    try table.table.insert(["title": 7, "done": true], id: "b")
    let error = #expect(throws: CairnError.self) { try table.records() }
    #expect(error?.message.hasPrefix("table things, record b, field title: ") == true)
    var unreadable: [RecordID: CairnError.Code] = [:]
    let readable = try table.records { record, error in unreadable[record.id] = error.code }
    #expect(readable.map(\.id) == ["a"])
    #expect(unreadable == ["b": .badType])
    #expect(throws: CairnError.self) { try table.record("b") }
    #expect(throws: CairnError.self) { try table.update("b") { $0.done = false } }
    try table.update("b", Task(title: "b", done: true))
    #expect(try table.get("b") == Task(title: "b", done: true), "a whole value mends it")
  }

  @Test func `get or insert`() throws {
    let table = try bench.table(of: Task.self)
    let first = try table.getOrInsert("r", Task(title: "a", done: false))
    #expect(first.inserted && first.record.value.title == "a")
    let second = try table.getOrInsert("r", Task(title: "b", done: true))
    #expect(!second.inserted && second.record.value == Task(title: "a", done: false))
    #expect(second.record.id == "r" && second.record == first.record)
    #expect(try table.count == 1)
    try table.delete("r")
    try table.delete("r")
    #expect(try table.get("r") == nil)
    #expect(try table.record("r") == nil)
  }
}
