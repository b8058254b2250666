import Cairn
import TestSupport
import Testing

/// Queries of typed tables.
@Suite struct TypedQueryTests {
  struct Task: Codable, Sendable, Equatable {
    var title: String
    var rank: Int
  }

  private let bench: TypedBench
  private let table: TypedTable<Task>

  init() throws {
    bench = try TypedBench()
    table = try bench.table(of: Task.self)
    for rank in 0..<10 {
      try table.insert(Task(title: "t\(rank)", rank: rank), id: RecordID("r\(rank)"))
    }
  }

  @Test func `a query's records come decoded, in its order`() throws {
    let query = Query().where("rank", .greaterOrEqual(3)).sorted(by: "rank", .descending)
    let found = try table.records(query.skip(1).limit(3))
    #expect(found.map(\.value.rank) == [8, 7, 6])
    #expect(found.map(\.id) == ["r8", "r7", "r6"])
    #expect(found.map(\.record) == found.map { table.table[$0.id] })
    #expect(try table.records(Query()).count == 10)
  }

  @Test func `a query's records are counted`() throws {
    #expect(try table.count(where: Query().where("rank", .less(4))) == 4)
    #expect(try table.count(where: Query().where("rank", .less(4)).limit(2)) == 2)
  }

  @Test func `a record that can't be read is an error, or left out and reported`() throws {
    try table.table.insert(["title": 7, "rank": 100], id: "odd")
    let query = Query().where("rank", .greater(8)).sorted(by: "rank")
    let error = #expect(throws: CairnError.self) { try table.records(query) }
    #expect(error?.code == .badType)
    var unreadable: [RecordID] = []
    let readable = try table.records(query) { record, _ in unreadable.append(record.id) }
    #expect(readable.map(\.id) == ["r9"])
    #expect(unreadable == ["odd"])
    #expect(try table.count(where: query) == 2, "it is counted all the same")
  }

  @Test func `a bad query is refused`() throws {
    let query = Query().limit(-1)
    let found = #expect(throws: CairnError.self) { try table.records(query) }
    #expect(found?.code == .illegalArgument)
    let counted = #expect(throws: CairnError.self) { try table.count(where: query) }
    #expect(counted?.code == .illegalArgument)
  }
}
