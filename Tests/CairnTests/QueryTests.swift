import Cairn
import TestSupport
import Testing

/// The public face of queries: what they refuse, cursors, indexes.
@Suite struct QueryTests {
  private let place: TemporaryDirectory
  private let datastore: Datastore
  private let table: Table

  init() throws {
    place = try TemporaryDirectory()
    var options = Options()
    options.durability = .none
    let manager = try DatastoreManager(root: place.path + "/root", options: options)
    datastore = try manager.openDefaultDatastore()
    table = try datastore.table("t")
  }

  private func fill(_ count: Int) throws {
    for number in 0..<count {
      try table.insert(
        ["n": .int(Int64(number)), "text": .string("s\(number % 7)")],
        id: RecordID("r\(number)"))
    }
  }

  private func code(_ body: () throws -> Void) -> CairnError.Code? {
    do {
      try body()
      return nil
    } catch { return (error as? CairnError)?.code }
  }

  private func ids(_ query: Query) throws -> [String] {
    try table.query(query).map(\.id.description)
  }

  // MARK: meaning

  @Test func `conditions, order and range of a result`() throws {
    try fill(20)
    let middle = Query().where("n", .greaterOrEqual(5)).where("n", .less(8.5))
    #expect(try Set(ids(middle)) == ["r5", "r6", "r7", "r8"])
    #expect(try ids(middle.sorted(by: "n", .descending)) == ["r8", "r7", "r6", "r5"])
    #expect(try ids(middle.sorted(by: "n").skip(1).limit(2)) == ["r6", "r7"])
    #expect(try ids(Query().where("n", .between(3, 4)).limit(9)) == ["r3", "r4"])
    #expect(try ids(Query().where("text", .hasPrefix("s6")).limit(9)) == ["r13", "r6"])
    #expect(try ids(Query().where("n", .oneOf([1, 2.0, "3", true])).limit(9)) == ["r1", "r2"])
    #expect(try table.count(where: Query().where("n", .greater(9)).skip(3)) == 7)
    #expect(try table.count(where: Query().limit(4)) == 4)
    #expect(try table.count(where: Query().skip(40)) == 0)
    #expect(try ids(Query().limit(0)) == [])
    #expect(try ids(Query().sorted(by: "text").sorted(by: "n", .descending).limit(3)) == [
      "r14", "r7", "r0",
    ])
  }

  @Test func `what still ties is in the order of the ids, generated ones too`() throws {
    var all: [RecordID] = []
    for number in 0..<200 {
      let id = number % 3 == 0 ? RecordID("id-\(number)") : RecordID.random()
      all.append(id)
      try table.insert(["n": .int(Int64(number % 2))], id: id)
    }
    #expect(try table.query(Query().limit(500)).map(\.id) == all.sorted())
    #expect(try table.query(Query().skip(3).limit(50)).map(\.id) == Array(all.sorted()[3..<53]))
    let sorted = try table.query(Query().sorted(by: "n", .descending)).map(\.id)
    let odd = Set(all.indices.filter { $0 % 2 == 1 }.map { all[$0] })
    #expect(sorted == odd.sorted() + all.filter { !odd.contains($0) }.sorted())
  }

  @Test func `an absent field meets no condition but one, and sorts first`() throws {
    try table.insert(["a": 1], id: "has")
    try table.insert(["b": 1], id: "lacks")
    #expect(try ids(Query().where("a", .isAbsent)) == ["lacks"])
    #expect(try ids(Query().where("a", .exists)) == ["has"])
    #expect(try ids(Query().where("a", .notEquals(2))) == ["has"])
    #expect(try ids(Query().sorted(by: "a")) == ["lacks", "has"])
    #expect(try ids(Query().sorted(by: "a", .descending)) == ["has", "lacks"])
  }

  @Test func `a query is a value`() {
    let base = Query().where("a", .equals(1))
    let limited = base.limit(3)
    #expect(base.limit == nil && limited.limit == 3 && limited.skip == 0)
    #expect(limited == Query().where("a", .equals(1)).limit(3))
    #expect(Set([base, limited, base]).count == 2)
  }

  // MARK: refusals

  @Test func `what is wrong with a query is thrown wherever it is used`() throws {
    let nested = Value.list([.list([1])])
    let wrong: [(Query, CairnError.Code)] = [
      (Query().limit(-1), .illegalArgument), (Query().skip(-1), .illegalArgument),
      (Query().limit(.min), .illegalArgument), (Query().where("", .exists), .illegalArgument),
      (Query().where("a b", .equals(1)), .illegalArgument),
      (Query().sorted(by: "ä"), .illegalArgument), (Query().where("a", .equals(nested)), .badType),
      (Query().where("a", .oneOf([1, nested])), .badType),
      (Query().where("a", .between(1, nested)), .badType),
    ]
    for (query, expected) in wrong {
      #expect(code { _ = try table.query(query) } == expected)
      #expect(code { _ = try table.count(where: query) } == expected)
      #expect(code { _ = try table.records(query) } == expected)
      #expect(code { _ = try table.explain(query) } == expected)
    }
    #expect(try ids(Query().skip(.max).limit(.max)) == [])
  }

  @Test func `an index of a reserved table or of a bad field is refused`() throws {
    #expect(code { try datastore.addIndex(table: ":info", field: "title") } == .illegalArgument)
    #expect(code { try datastore.addIndex(table: "a b", field: "x") } == .illegalArgument)
    #expect(code { try datastore.addIndex(table: "t", field: "") } == .illegalArgument)
    #expect(code { try datastore.removeIndex(table: "t", field: "a b") } == .illegalArgument)
    try datastore.removeIndex(table: "t", field: "never")
    try datastore.close()
    #expect(code { try datastore.addIndex(table: "t", field: "x") } == .closed)
    #expect(code { _ = try table.query(Query()) } == .closed)
    #expect(code { _ = try table.records() } == .closed)
  }

  // MARK: cursors

  @Test(arguments: [Query(), Query().sorted(by: "n"), Query().where("n", .less(7))])
  func `a cursor gives what the query gives`(query: Query) throws {
    try fill(1500)
    try datastore.sync()
    try datastore.compact()
    try table[RecordID("r3")].set("n", 5)
    try table.insert(["n": 3], id: "own")
    let cursor = try table.records(query)
    var found: [Record] = []
    if let first = try cursor.next() { found.append(first) }
    try cursor.forEach { record throws(CairnError) in found.append(record) }
    let wanted = try table.query(query)
    #expect(found.count == wanted.count)
    if query == Query().sorted(by: "n") {
      #expect(found == wanted)
    } else {
      #expect(Set(found) == Set(wanted))
    }
    #expect(try cursor.next() == nil)
  }

  @Test func `a cursor of a closed datastore throws and does not end`() throws {
    try fill(600)
    let cursor = try table.records()
    #expect(try cursor.next() != nil)
    try datastore.close()
    // What it has it gives; for more it has to ask.
    let failure = code { while try cursor.next() != nil {} }
    #expect(failure == .closed)
  }

  // MARK: indexes

  @Test func `an index changes nothing but the way`() throws {
    try fill(1000)
    let query = Query().where("n", .between(10, 19.5)).sorted(by: "n", .descending)
    let before = try ids(query)
    #expect(try table.explain(query) == "scan of 1000 records")
    try datastore.addIndex(table: "t", field: "n")
    #expect(try table.explain(query) == "index of n, 10 candidates")
    #expect(try ids(query) == before)
    try datastore.sync()
    try datastore.compact()
    #expect(try table.explain(query) == "index of n, 10 candidates")
    #expect(try ids(query) == before)
    try datastore.removeIndex(table: "t", field: "n")
    #expect(try table.explain(query) == "scan of 1000 records")
    #expect(try ids(query) == before)
  }
}
