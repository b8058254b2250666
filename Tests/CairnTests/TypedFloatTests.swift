import Cairn
import TestSupport
import Testing

/// A `Float` shows less than what is stored: what the app has not changed stays as it is.
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
}
