import Cairn
import TestSupport
import Testing

/// What a record can't hold is refused, with an error that says where and why; nothing is written.
@Suite struct TypedRefusalTests {
  private let bench: TypedBench

  init() throws { bench = try TypedBench() }

  struct One<Content: Codable & Sendable>: Codable, Sendable {
    var name = "x"
    var content: Content
  }

  struct Address: Codable, Sendable, Hashable { var street = "" }
  struct Nothing: Codable, Sendable {}
  enum Shape: Codable, Sendable { case circle(radius: Double) }

  private func expectRefused<Content: Codable & Sendable>(
    _ content: Content, _ reason: String, item: Int? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let error = try bench.writingError(One(content: content), sourceLocation: sourceLocation)
    let place = "table things, record r, field content" + (item.map { ", item \($0)" } ?? "")
    #expect(error?.code == .badType, sourceLocation: sourceLocation)
    #expect(error?.id == "content", sourceLocation: sourceLocation)
    let message = error?.message ?? ""
    #expect(
      message.hasPrefix(place + ": ") && message.contains(reason), "\(message)",
      sourceLocation: sourceLocation)
  }

  @Test func `structs with fields of their own`() throws {
    try expectRefused(Address(), "Address has fields of its own")
    try expectRefused(Nothing(), "Nothing has fields of its own")
    try expectRefused(Shape.circle(radius: 1), "Shape has fields of its own")
    try expectRefused([Address()], "Address has fields of its own", item: 0)
    try expectRefused(Optional(Address()), "Address has fields of its own")
  }

  @Test func `dictionaries of every kind`() throws {
    try expectRefused(["a": 1], "can't hold a dictionary")
    try expectRefused([1: "a"], "can't hold a dictionary")
    try expectRefused([Color.red: "a"], "can't hold a dictionary")
    try expectRefused([Address(): 1], "can't hold a dictionary")
    try expectRefused([String: Int](), "can't hold a dictionary")
    try expectRefused([Address: Int](), "can't hold a dictionary")
    try expectRefused([["a": 1]], "can't hold a dictionary", item: 0)
  }

  @Test func `lists in lists, and nil in lists`() throws {
    try expectRefused([[1], [2]], "can't hold lists", item: 0)
    try expectRefused([[Int]()], "can't hold lists", item: 0)
    try expectRefused([Set(["x"])], "can't hold lists", item: 0)
    try expectRefused([[1]] as Value, "can't hold lists")
    try expectRefused([1, [2]] as [Value], "can't hold lists", item: 1)
    try expectRefused([1, nil], "can't hold nil", item: 1)
    try expectRefused([Color?.none], "can't hold nil", item: 0)
  }

  @Test func `integers beyond 64 bits with a sign`() throws {
    try expectRefused(UInt64.max, "18446744073709551615 is out of range")
    try expectRefused(UInt(Int64.max) + 1, "9223372036854775808 is out of range")
    try expectRefused(Int128.min, "is out of range")
    try expectRefused([1, UInt64.max], "18446744073709551615 is out of range", item: 1)
    try expectRefused(Optional(UInt64.max), "is out of range")
  }

  struct Silent: Codable, Sendable {
    init() {}
    init(from decoder: any Decoder) throws {}
    func encode(to encoder: any Encoder) throws {}
  }

  @Test func `a type that encodes nothing`() throws {
    try expectRefused(Silent(), "Silent encodes nothing")
    try expectRefused([Silent()], "Silent encodes nothing", item: 0)
  }

  class Animal: Codable, @unchecked Sendable {
    var name = "x"
  }

  final class Dog: Animal, @unchecked Sendable {
    var tail = 1
    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      tail = try container.decode(Int.self, forKey: .tail)
      try super.init(from: container.superDecoder())
    }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(tail, forKey: .tail)
      try super.encode(to: container.superEncoder())
    }
    enum Keys: String, CodingKey { case tail }
  }

  @Test func `classes with a superclass, when written and when read`() throws {
    let expected =
      "table things, record r: Dog asks for a place for its superclass, and a record has none; use "
      + "a struct"
    #expect(try bench.writingError(Dog())?.message == expected)
    #expect(try bench.readingError(Dog.self, ["tail": 1])?.message == expected)
    let table = try bench.table(of: Animal.self)
    try table.insert(Animal(), id: "r")
    #expect(try table.get("r")?.name == "x")
  }

  final class Node: Codable, @unchecked Sendable {
    var next: Node?
    var nodes: [Node] = []
  }

  @Test func `objects in a circle end with an error`() throws {
    let node = Node()
    node.next = node
    #expect(try bench.writingError(node)?.code == .badType)
    node.next = nil
    node.nodes = [node]
    #expect(try bench.writingError(node)?.code == .badType)
    node.nodes = []
  }

  @Test func `models that have no fields`() throws {
    let reason = "does not encode as a keyed container"
    for error in [
      try bench.writingError(5), try bench.writingError("x"), try bench.writingError([1]),
      try bench.writingError([Int]()), try bench.writingError(Silent()),
      try bench.writingError(Color.red), try bench.writingError(Optional<Int>.none),
      try bench.readingError(Int.self, ["a": 1]), try bench.readingError([Int].self, ["a": 1]),
    ] {
      #expect(error?.code == .badType)
      #expect(error?.message.hasPrefix("table things, record r: ") == true)
      #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }
  }

  struct Nesting: Codable, Sendable {
    enum Way: Int, Codable, CaseIterable { case keyed, unkeyed, none, keyedIn, unkeyedIn, superIn }
    var way: Way
    enum Keys: String, CodingKey { case inner, way }

    init(way: Way) { self.way = way }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      way = try container.decode(Way.self, forKey: .way)
      switch way {
      case .keyed: _ = try container.nestedContainer(keyedBy: Keys.self, forKey: .inner)
      case .unkeyed: _ = try container.nestedUnkeyedContainer(forKey: .inner)
      case .none: _ = try container.superDecoder(forKey: .inner)
      case .keyedIn, .unkeyedIn, .superIn:
        _ = try container.decode(Inside.self, forKey: .inner)
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(way, forKey: .way)
      switch way {
      case .keyed:
        var inner = container.nestedContainer(keyedBy: Keys.self, forKey: .inner)
        try inner.encode(1, forKey: .way)
      case .unkeyed: _ = container.nestedUnkeyedContainer(forKey: .inner)
      case .none: _ = container.superEncoder(forKey: .inner)
      case .keyedIn, .unkeyedIn, .superIn:
        try container.encode(Inside(way: way), forKey: .inner)
      }
    }

    struct Inside: Codable {
      var way: Way
      init(way: Way) { self.way = way }
      init(from decoder: any Decoder) throws {
        way = .keyedIn
        var list = try decoder.unkeyedContainer()
        way = try #require(Way(rawValue: try list.decode(Int.self)))
        switch way {
        case .keyedIn: _ = try list.nestedContainer(keyedBy: Keys.self)
        case .unkeyedIn: _ = try list.nestedUnkeyedContainer()
        default: _ = try list.superDecoder()
        }
      }
      func encode(to encoder: any Encoder) throws {
        var list = encoder.unkeyedContainer()
        try list.encode(way)
        switch way {
        case .keyedIn: _ = list.nestedContainer(keyedBy: Keys.self)
        case .unkeyedIn: _ = list.nestedUnkeyedContainer()
        default: _ = list.superEncoder()
        }
      }
    }
  }

  @Test(arguments: Nesting.Way.allCases)
  func `containers inside of containers, when written and when read`(_ way: Nesting.Way) throws {
    #expect(try bench.writingError(Nesting(way: way))?.code == .badType)
    let number = Value.int(Int64(way.rawValue))
    let error = try bench.readingError(Nesting.self, ["way": number, "inner": [number, 1]])
    #expect(error?.code == .badType)
  }

  struct BadKey: Codable, Sendable {
    var title = "x"
    enum CodingKeys: String, CodingKey { case title = "the title" }
  }

  @Test func `coding keys that can't name a field`() throws {
    let error = try bench.writingError(BadKey())
    #expect(error?.code == .illegalArgument)
    #expect(
      error?.message.hasPrefix(
        "table things, record r: the coding key \"the title\" of BadKey can't name a field: ")
        == true)
  }

  @Test func `table and record ids`() throws {
    #expect(throws: CairnError.self) { try bench.datastore.table("a b", of: BadKey.self) }
    #expect(throws: CairnError.self) { try bench.datastore.table(":info", of: BadKey.self) }
    let table = try bench.table(of: One<Int>.self)
    let bad: RecordID = "no id"
    for call in [
      { _ = try table.get(bad) }, { _ = try table.record(bad) }, { try table.delete(bad) },
      { _ = try table.insert(One(content: 1), id: bad) },
      { _ = try table.getOrInsert(bad, One(content: 1)) },
      { try table.update(bad, One(content: 1)) }, { _ = try table.update(bad) { $0.content = 2 } },
    ] as [() throws -> Void] {
      let error = #expect(throws: CairnError.self) { try call() }
      #expect(error?.code == .illegalArgument)
    }
    #expect(try table.count == 0)
  }

  @Test func `a record that is there, one that is not, and one too large`() throws {
    let table = try bench.table(of: One<String>.self)
    try table.insert(One(content: "a"), id: "r")
    let twice = #expect(throws: CairnError.self) { try table.insert(One(content: "b"), id: "r") }
    #expect(twice?.code == .exists)
    let large = String(repeating: "x", count: 200_000)
    let limit = #expect(throws: CairnError.self) { try table.update("r") { $0.content = large } }
    #expect(limit?.code == .sizeLimit)
    for call in [
      { try table.update("gone", One(content: "b")) },
      { _ = try table.update("gone") { $0.content = "b" } },
    ] as [() throws -> Void] {
      let gone = #expect(throws: CairnError.self) { try call() }
      #expect(gone?.code == .deleted)
      #expect(gone?.message == "there is no record gone in table things; was it deleted?")
    }
    #expect(try table.table["r"].fields == ["name": "x", "content": "a"])
    try bench.datastore.close()
    let closed = #expect(throws: CairnError.self) { try table.get("r") }
    #expect(closed?.code == .closed)
  }
}
