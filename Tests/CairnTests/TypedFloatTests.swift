import Cairn
import TestSupport
import Testing

/// A `Float` shows less than what is stored, and a `Double` shows an integer as a double: what the
/// app has not changed stays as it is.
@Suite struct TypedFloatTests {
  struct Rounded: Codable, Sendable, Equatable {
    var x: Float
    var maybe: Float?
    var list: [Float]
    var count: Int
  }

  private let bench: TypedBench
  private let table: TypedTable<Rounded>
  private let stored: [String: Value] = ["x": 0.1, "maybe": 0.3, "list": [0.1, 0.2], "count": 1]

  init() throws {
    bench = try TypedBench()
    table = try bench.table(of: Rounded.self)
    try table.table.insert(fields: stored, id: "r")
    try bench.datastore.sync()
  }

  @Test func `a float reads the nearest to a double`() throws {
    #expect(
      try table.get("r") == Rounded(x: 0.1, maybe: 0.3, list: [0.1, 0.2], count: 1))
  }

  @Test func `a whole value that was only read writes nothing`() throws {
    let read = try #require(try table.get("r"))
    try table.update("r", read)
    try table.update("r") { _ in }
    #expect(bench.datastore.unsyncedChangesSize == 0)
    var changed = read
    changed.count = 2
    try table.update("r", changed)
    var expected = stored
    expected["count"] = 2
    #expect(try table.table["r"].fields == expected)
  }

  @Test func `what the app changes is written, and only that`() throws {
    try table.update("r") { $0.x = 0.4 }
    #expect(try table.table["r"].get("x") == .double(Double(Float(0.4))))
    #expect(try table.table["r"].get("maybe") == 0.3)
    try table.update("r") { $0.list[1] = 5 }
    #expect(try table.table["r"].listValues("list") == [0.1, 5.0])
    var read = try #require(try table.get("r"))
    read.maybe = nil
    read.list.append(6)
    try table.update("r", read)
    #expect(try table.table["r"].listValues("list") == [0.1, 5.0, 6.0])
    #expect(try table.table["r"].get("maybe") == nil)
  }

  // MARK: integers

  /// More than a `Float` holds exactly, and numbers of a peer that writes no doubles.
  private let integers: [String: Value] = [
    "x": 16_777_217, "maybe": 3, "list": [1, 2], "count": 1,
  ]

  struct Doubled: Codable, Sendable, Equatable {
    var x: Double
    var maybe: Double?
    var list: [Double]
    var things: Set<Double>
    var count: Int
  }

  @Test func `integers that floats only read stay integers`() throws {
    try table.table.insert(fields: integers, id: "n")
    try bench.datastore.sync()
    let read = try #require(try table.get("n"))
    #expect(read == Rounded(x: 16_777_216, maybe: 3, list: [1, 2], count: 1))
    try table.update("n", read)
    #expect(bench.datastore.unsyncedChangesSize == 0)
    var changed = read
    changed.count = 2
    changed.list.append(3)
    try table.update("n", changed)
    var expected = integers
    expected["count"] = 2
    expected["list"] = [1, 2, 3.0]
    #expect(try table.table["n"].fields == expected)
  }

  @Test func `integers that doubles only read stay integers`() throws {
    let doubled = try bench.table(of: Doubled.self)
    var expected = integers
    expected["things"] = [1, 2]
    try doubled.table.insert(fields: expected, id: "n")
    try bench.datastore.sync()
    let read = try #require(try doubled.get("n"))
    #expect(read == Doubled(x: 16_777_217, maybe: 3, list: [1, 2], things: [1, 2], count: 1))
    try doubled.update("n", read)
    #expect(bench.datastore.unsyncedChangesSize == 0)
    var changed = read
    changed.count = 2
    changed.list.append(3)
    changed.things.insert(3)
    try doubled.update("n", changed)
    expected["count"] = 2
    expected["list"] = [1, 2, 3.0]
    expected["things"] = [1, 2, 3.0]
    #expect(try doubled.table["n"].fields == expected)
    try doubled.update("n") {
      $0.list.append(4)
      $0.things.remove(1)
    }
    #expect(try doubled.table["n"].listValues("list") == [1, 2, 3.0, 4.0])
    #expect(try doubled.table["n"].listValues("things") == [2, 3.0])
    var other = try #require(try doubled.get("n"))
    other.x = 0.5
    other.maybe = nil
    try doubled.update("n", other)
    #expect(try doubled.table["n"].get("x") == 0.5)
    #expect(try doubled.table["n"].get("maybe") == nil)
  }

  struct Placed: Codable, Sendable {
    var at: SIMD2<Double>
  }

  @Test func `what is written as a whole keeps the integers that only were read`() throws {
    let placed = try bench.table(of: Placed.self)
    try placed.table.insert(fields: ["at": [1, 2]], id: "n")
    try placed.update("n") { $0.at.x = 3 }
    #expect(try placed.table["n"].listValues("at") == [3.0, 2])
  }

  /// A type of the app's that tells integers from doubles.
  enum Number: Codable, Sendable, Equatable {
    case whole(Int)
    case broken(Double)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      do { self = .whole(try container.decode(Int.self)) } catch is DecodingError {
        self = .broken(try container.decode(Double.self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .whole(let number): try container.encode(number)
      case .broken(let number): try container.encode(number)
      }
    }
  }

  struct Exact: Codable, Sendable, Equatable {
    var list: [Number]
    var value: Value
  }

  @Test func `a type that tells integers from doubles writes neither when it only reads`() throws {
    let exact = try bench.table(of: Exact.self)
    try exact.table.insert(fields: ["list": [1, 2.5], "value": 1], id: "n")
    try bench.datastore.sync()
    var read = try #require(try exact.get("n"))
    #expect(read == Exact(list: [.whole(1), .broken(2.5)], value: 1))
    try exact.update("n", read)
    #expect(bench.datastore.unsyncedChangesSize == 0)
    read.list.append(.whole(3))
    read.value = 1.0
    try exact.update("n", read)
    #expect(try exact.table["n"].fields == ["list": [1, 2.5, 3], "value": 1.0])
  }

  struct Scale: Codable, Sendable, Equatable {
    var first: Number
    var steps: [Number]
  }

  @Test func `integers that such a type makes doubles are written as doubles`() throws {
    let scales = try bench.table(of: Scale.self)
    let stored: [String: Value] = ["first": 1, "steps": [1, 2]]
    try scales.table.insert(fields: stored, id: "n")
    try scales.table.insert(fields: stored, id: "m")
    try bench.datastore.sync()
    try scales.update("n") { $0.steps = [.broken(1), .broken(2.5)] }
    #expect(try scales.table["n"].fields == ["first": 1, "steps": [1.0, 2.5]])
    try scales.update("n") { $0.first = .broken(1) }
    #expect(try scales.table["n"].fields == ["first": 1.0, "steps": [1.0, 2.5]])
    var whole = try #require(try scales.get("m"))
    #expect(whole == Scale(first: .whole(1), steps: [.whole(1), .whole(2)]))
    whole.first = .broken(1)
    whole.steps = [.broken(1), .broken(2)]
    try scales.update("m", whole)
    #expect(try scales.table["m"].fields == ["first": 1.0, "steps": [1.0, 2.0]])
  }

  @Test func `a record that such a type can't read is made what the model is`() throws {
    let scales = try bench.table(of: Scale.self)
    try scales.table.insert(fields: ["first": "text", "steps": [2]], id: "n")
    try scales.update("n", Scale(first: .broken(1), steps: [.broken(3)]))
    #expect(try scales.table["n"].fields == ["first": 1.0, "steps": [3.0]])
  }
}
