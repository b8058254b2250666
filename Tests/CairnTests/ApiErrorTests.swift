import Cairn
import TestSupport
import Testing

/// Every way to call the library wrongly has its code, and changes nothing.
@Suite struct ApiErrorTests {
  private let place: TemporaryDirectory
  private let manager: DatastoreManager

  init() throws {
    place = try TemporaryDirectory()
    manager = try DatastoreManager(root: place.path + "/root")
  }

  private func linked(_ root: String = "/linked") throws -> DatastoreManager {
    try DatastoreManager(
      root: place.path + root,
      account: Account(user: "ann", folder: .directory(place.path + "/folder")))
  }

  private func manager(_ limits: Limits) throws -> DatastoreManager {
    var options = Options()
    options.limits = limits
    return try DatastoreManager(root: place.path + "/root", options: options)
  }

  /// The codes that say that the call was wrong.
  private static let wrongCalls: Set<CairnError.Code> = [
    .closed, .badIndex, .illegalArgument, .sizeLimit, .invalidOperation,
  ]

  private func expect(
    _ code: CairnError.Code, _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) {
    let error = #expect(
      throws: CairnError.self, comment, sourceLocation: sourceLocation, performing: body)
    guard let error else { return }
    #expect(error.code == code, comment, sourceLocation: sourceLocation)
    let isWrongCall = ApiErrorTests.wrongCalls.contains(code)
    #expect(error.isProgrammingError == isWrongCall, sourceLocation: sourceLocation)
    #expect(!error.message.isEmpty, sourceLocation: sourceLocation)
    #expect(error.description == "\(code.rawValue): \(error.message)")
  }

  private static func long(_ count: Int, _ character: String = "a") -> String {
    String(repeating: character, count: count)
  }

  // MARK: grammars

  private static let badNames = [
    "", " ", "a b", "ä", "a\n", "a\0", "a:b", "a\\b", "a*b", "a,b", "e\u{301}", "🐦", ":", "::a",
    long(65), ":" + long(64), "a\"", "a%", "a~", "a@b", "a#",
  ]
  private static let goodNames = [
    "a", "A", "0", "-", ".", "_", "+", "/", "=", "..", "a.b/c+d=e_f-g", long(64), "CON", "9z",
  ]

  @Test func `table ids`() throws {
    let datastore = try manager.openDefaultDatastore()
    for id in ApiErrorTests.badNames {
      expect(.illegalArgument, "\(id)") { _ = try datastore.table(id) }
      #expect(!Table.isValid(id), "\(id)")
    }
    for id in [":info", ":rules", ":x"] {
      expect(.illegalArgument, "\(id)") { _ = try datastore.table(id) }
    }
    for id in ApiErrorTests.goodNames {
      #expect(Table.isValid(id))
      try datastore.table(id).insert(["x": 1], id: "r")
    }
    try datastore.sync()
    #expect(Set(try datastore.tables().map(\.id)) == Set(ApiErrorTests.goodNames))
  }

  @Test func `record ids`() throws {
    let table = try manager.openDefaultDatastore().table("t")
    for id in ApiErrorTests.badNames {
      #expect(!RecordID.isValid(id), "\(id)")
      expect(.illegalArgument, "\(id)") { try table.insert(["x": 1], id: RecordID(id)) }
      expect(.illegalArgument, "\(id)") { try table.insert(fields: ["x": 1], id: RecordID(id)) }
      expect(.illegalArgument, "\(id)") { _ = try table.record(RecordID(id)) }
      expect(.illegalArgument, "\(id)") { _ = try table.getOrInsert(RecordID(id)) }
      expect(.deleted, "\(id)") { try table[RecordID(id)].set("x", 1) }
    }
    #expect(try table.count == 0)
    for id in ApiErrorTests.goodNames + [":reserved", ":" + ApiErrorTests.long(63)] {
      #expect(RecordID.isValid(id))
      try table.insert(["x": 1], id: RecordID(id))
      #expect(try table.record(RecordID(id))?.id.description == id)
    }
  }

  @Test func `what can name a record or a field is said as a whole`() throws {
    let rule = "1 to 64 of the characters A-Z a-z 0-9 - . _ + / =, or a colon and up to 63 of these"
    let table = try manager.openDefaultDatastore().table("t")
    let record = #expect(throws: CairnError.self) { _ = try table.record(RecordID("a b")) }
    #expect(record?.message == "\"a b\" can't be a record id: \(rule)")
    let query = #expect(throws: CairnError.self) { _ = try table.query(["a b": 1]) }
    #expect(query?.message == "\"a b\" can't name a field: \(rule)")
    let insert = #expect(throws: CairnError.self) { try table.insert(fields: ["a b": 1]) }
    #expect(insert?.message == "\"a b\" can't name a field: \(rule)")
  }

  @Test func `field names`() throws {
    let table = try manager.openDefaultDatastore().table("t")
    let record = try table.insert(["x": 1], id: "r")
    let size = table.datastore.size
    for field in ApiErrorTests.badNames {
      #expect(!Table.isValidField(field), "\(field)")
      expect(.illegalArgument, "\(field)") { try table.insert(fields: [field: 1]) }
      expect(.illegalArgument, "\(field)") { try table.insert(fields: ["a": 1, field: 1]) }
      expect(.illegalArgument, "\(field)") { _ = try table.getOrInsert("n", fields: [field: 1]) }
      expect(.illegalArgument, "\(field)") { try record.set(field, 1) }
      expect(.illegalArgument, "\(field)") { try record.update(["a": 1, field: 1]) }
      expect(.illegalArgument, "\(field)") { _ = try table.query([field: 1]) }
      expect(.illegalArgument, "\(field)") { try table.setRule(.sum, field: field) }
      #expect(try record.get(field) == nil)
    }
    #expect(try record.fields == ["x": 1])
    #expect(try table.count == 1 && table.datastore.size == size)
    for field in ApiErrorTests.goodNames {
      #expect(Table.isValidField(field))
      try record.set(field, 1)
    }
    #expect(try record.fields.count == ApiErrorTests.goodNames.count + 1)
  }

  @Test func `datastore ids`() throws {
    let long = ApiErrorTests.long
    let bad = [
      "", ".", "..", "A", "aB", ".a.b", "a.", ".a ", "a b", "a/b", "a+b", "../x", "ä", "a:b",
      long(65, "a"), "." + long(64, "A"), ".é", "a\0", "a\n",
    ]
    for id in bad {
      #expect(!Datastore.isValidId(id), "\(id)")
      expect(.illegalArgument, "\(id)") { _ = try manager.openOrCreateDatastore(id) }
      expect(.illegalArgument, "\(id)") { _ = try manager.openDatastore(id) }
      expect(.notFound, "\(id)") { try manager.deleteDatastore(id) }
    }
    #expect(try manager.listDatastores() == [])
    let good = [
      "a", "0", "-", "_", "a.b", "a..b", "default", long(64, "z"), ".A", ".a", ".-", "._",
      "." + long(63, "Z"), "." + long(63, "z"),
    ]
    for id in good {
      #expect(Datastore.isValidId(id), "\(id)")
      #expect(Datastore.isValidShareableId(id) == id.hasPrefix("."))
      // A capital takes two bytes in the directory's name, and file systems end at 255.
      let datastore = try manager.openOrCreateDatastore(id)
      #expect(datastore.isShareable == id.hasPrefix("."))
      try datastore.close()
    }
    #expect(try manager.listDatastores().map(\.id) == good.sorted())
    let made = try manager.createDatastore()
    #expect(Datastore.isValidShareableId(made.id))
  }

  // MARK: values and records

  @Test func `a list in a list has a bad type`() throws {
    let table = try manager.openDefaultDatastore().table("t")
    let record = try table.insert(["x": [1, "a"]], id: "r")
    let nested: Value = [1, [2]]
    expect(.badType) { try table.insert(["x": nested]) }
    expect(.badType) { try table.insert(fields: ["x": nested]) }
    expect(.badType) { _ = try table.getOrInsert("s", fields: ["x": nested]) }
    expect(.badType) { try record.set("x", nested) }
    expect(.badType) { try record.update(["y": 1, "x": nested]) }
    expect(.badType) { _ = try table.query(["x": nested]) }
    #expect(try table.count == 1)
    #expect(try record.fields == ["x": [1, "a"]])
  }

  @Test func `a field can't be given twice, an id not be taken twice`() throws {
    let table = try manager.openDefaultDatastore().table("t")
    expect(.illegalArgument) { try table.insert(["x": 1, "y": 2, "x": 3], id: "r") }
    #expect(try table.record("r") == nil)
    try table.insert(["x": 1], id: "r")
    expect(.exists) { try table.insert(["x": 2], id: "r") }
    expect(.exists) { try table.insert(fields: ["x": 2], id: "r") }
    try table.datastore.sync()
    expect(.exists) { try table.insert(["x": 2], id: "r") }
    try table.datastore.compact()
    expect(.exists) { try table.insert(["x": 2], id: "r") }
    #expect(try table["r"].fields == ["x": 1])
    let (record, inserted) = try table.getOrInsert("r", fields: ["x": 3])
    #expect(try !inserted && record.int("x") == 1)
  }

  @Test func `a deleted record can be read and deleted, not written`() throws {
    let table = try manager.openDefaultDatastore().table("t")
    let record = try table.insert(["x": 1], id: "r")
    for step in ["pending", "committed", "compacted", "never there"] {
      if step == "pending" { try record.delete() }
      if step == "committed" { try table.datastore.sync() }
      if step == "compacted" { try table.datastore.compact() }
      let record = table[step == "never there" ? "other" : "r"]
      expect(.deleted, "\(step)") { try record.set("x", 2) }
      expect(.deleted, "\(step)") { try record.update(["x": 2, "y": nil]) }
      expect(.deleted, "\(step)") { try record.remove("x") }
      try record.delete()
      #expect(try record.isDeleted && record.fields.isEmpty && record.size == 0)
      #expect(try record.get("x") == nil && record.int("x") == nil)
      #expect(try table.record(record.id) == nil)
    }
  }

  @Test func `a typed read of another type is nothing`() throws {
    let table = try manager.openDefaultDatastore().table("t")
    let record = try table.insert(["i": 1, "d": 1.0, "b": true, "s": "1"], id: "r")
    #expect(try record.double("i") == nil && record.int("d") == nil && record.int("b") == nil)
    #expect(try record.bool("i") == nil && record.string("i") == nil && record.bytes("s") == nil)
    #expect(try record.date("i") == nil && record.listValues("s") == nil)
    #expect(try record.int("none") == nil)
    #expect(try table.query(["i": 1.0]).count == 1 && table.query(["b": 1]).count == 0)
  }

  // MARK: limits

  @Test func `the limits and sizes of an app that says nothing are those of the original`() throws {
    let limits = Options().limits
    #expect(limits == Limits())
    #expect(limits.recordBytes == 102_400)
    #expect(limits.recordCount == 100_000)
    #expect(limits.datastoreBytes == 10_485_760)
    #expect(limits.deltaBytes == 2_097_152)
    // The original had no attachments.
    #expect(limits.attachmentBytes == 1_073_741_824)
    #expect(Limits.datastoreBaseSize == 1000)
    #expect(Limits.recordBaseSize == 100)
    #expect(Limits.fieldBaseSize == 100)
    #expect(Limits.listItemBaseSize == 20)
    #expect(Limits.unsyncedChangesBaseSize == 100)
    #expect(Limits.changeBaseSize == 100)
    let datastore = try manager.openDefaultDatastore()
    #expect(datastore.size == 1000 && datastore.recordCount == 0)
    #expect(datastore.unsyncedChangesSize == 0)
  }

  @Test func `a record's limit is kept to the byte`() throws {
    let table = try manager(Limits(recordBytes: 1000)).openDefaultDatastore().table("t")
    let text = ApiErrorTests.long
    let record = try table.insert(["x": .string(text(800, "a"))], id: "r")
    #expect(try record.size == 1000)
    expect(.sizeLimit) { try table.insert(["x": .string(text(801, "a"))]) }
    expect(.sizeLimit) { try record.set("x", .string(text(801, "a"))) }
    expect(.sizeLimit) { try record.set("y", true) }
    try record.update(["x": .string(text(700, "a")), "y": true])
    expect(.sizeLimit) { try record.set("y", "z") }
    #expect(try record.size == 1000 && table.count == 1)
  }

  @Test func `the number of records is kept`() throws {
    let datastore = try manager(Limits(recordCount: 3)).openDefaultDatastore()
    let table = try datastore.table("t")
    for id in ["a", "b", "c"] { try table.insert([:], id: RecordID(id)) }
    expect(.sizeLimit) { try table.insert([:]) }
    expect(.sizeLimit) { _ = try table.getOrInsert("d") }
    try table["a"].delete()
    try table.insert([:], id: "d")
    #expect(datastore.recordCount == 3)
  }

  @Test func `a datastore's limit is kept to the byte`() throws {
    let limits = Limits(datastoreBytes: 1000 + 300 + 250)
    let datastore = try manager(limits).openDefaultDatastore()
    let table = try datastore.table("t")
    try table.insert(["x": "", "y": 1], id: "r")
    expect(.sizeLimit) { try table.insert(["x": .string(ApiErrorTests.long(51))]) }
    let last = try table.insert(["x": .string(ApiErrorTests.long(50))])
    #expect(datastore.size == 1550)
    expect(.sizeLimit) { try table["r"].set("x", "a") }
    try last.delete()
    try table["r"].set("x", "a")
    #expect(datastore.size == 1301)
  }

  @Test func `a delta's limit is kept to the byte, and a sync makes room`() throws {
    let datastore = try manager(Limits(deltaBytes: 100 + 200 + 150)).openDefaultDatastore()
    let table = try datastore.table("t")
    #expect(datastore.unsyncedChangesSize == 0)
    let record = try table.insert(["x": 1], id: "r")
    #expect(datastore.unsyncedChangesSize == 300)
    expect(.sizeLimit) { try table.insert(["x": "y"], id: "s") }
    try table.insert([:], id: "s")
    expect(.sizeLimit) { try table.insert([:], id: "t") }
    expect(.sizeLimit) { try record.set("x", .string(ApiErrorTests.long(51))) }
    try datastore.sync()
    #expect(datastore.unsyncedChangesSize == 0)
    try table.insert(["x": "y"], id: "t")
  }

  // MARK: open and closed

  @Test func `a closed datastore says so`() throws {
    let datastore = try manager.openDefaultDatastore()
    let table = try datastore.table("t")
    let record = try table.insert(["x": 1], id: "r")
    try datastore.close()
    try datastore.close()
    #expect(!datastore.isOpen)
    let calls: [(String, () throws -> Void)] = [
      ("table", { _ = try datastore.table("t") }), ("tables", { _ = try datastore.tables() }),
      ("title", { _ = try datastore.title }), ("setTitle", { try datastore.setTitle("x") }),
      ("sync", { try datastore.sync() }), ("rollback", { try datastore.rollback() }),
      ("compact", { try datastore.compact() }),
      ("setDefaultRule", { try datastore.setDefaultRule(.max) }),
      ("statistics", { _ = try datastore.statistics() }),
      ("insert", { try table.insert(["x": 1]) }), ("record", { _ = try table.record("r") }),
      ("getOrInsert", { _ = try table.getOrInsert("r") }), ("query", { _ = try table.query() }),
      ("count", { _ = try table.count }), ("setRule", { try table.setRule(.max, field: "x") }),
      ("get", { _ = try record.get("x") }), ("int", { _ = try record.int("x") }),
      ("fields", { _ = try record.fields }), ("size", { _ = try record.size }),
      ("isDeleted", { _ = try record.isDeleted }), ("set", { try record.set("x", 1) }),
      ("update", { try record.update(["x": 1]) }), ("delete", { try record.delete() }),
    ]
    for (name, call) in calls { expect(.closed, "\(name)", call) }
  }

  @Test func `an exchange of a closed datastore says so`() async throws {
    let datastore = try linked().openDefaultDatastore()
    try datastore.close()
    let error = await datastore.exchangeError()
    #expect(error?.code == .closed && error?.isProgrammingError == true)
    expect(.closed) { try datastore.startExchanging() }
  }

  @Test func `a manager that was shut down says so`() throws {
    let datastore = try manager.openDefaultDatastore()
    try datastore.add("a")
    try datastore.table("t").insert([:], id: "not-synced")
    try manager.shutDown()
    try manager.shutDown()
    #expect(manager.isShutDown && !datastore.isOpen)
    expect(.shutdown) { _ = try manager.openDefaultDatastore() }
    expect(.shutdown) { _ = try manager.openDatastore("default") }
    expect(.shutdown) { _ = try manager.openOrCreateDatastore("x") }
    expect(.shutdown) { _ = try manager.createDatastore() }
    expect(.shutdown) { _ = try manager.listDatastores() }
    expect(.shutdown) { try manager.deleteDatastore("default") }
    expect(.shutdown) { try datastore.sync() }
    let next = try DatastoreManager(root: manager.root)
    #expect(try next.openDefaultDatastore().ids() == ["a"])
  }

  @Test func `a datastore is open once`() throws {
    let datastore = try manager.openDefaultDatastore()
    let other = try DatastoreManager(root: manager.root)
    for manager in [manager, other] {
      expect(.alreadyOpen) { _ = try manager.openDefaultDatastore() }
      expect(.alreadyOpen) { _ = try manager.openDatastore("default") }
      expect(.alreadyOpen) { try manager.deleteDatastore("default") }
    }
    try datastore.add("a")
    try datastore.close()
    let again = try other.openDatastore("default")
    #expect(try again.ids() == ["a"])
    expect(.alreadyOpen) { _ = try manager.openDefaultDatastore() }
  }

  @Test func `only what is there can be opened or deleted`() throws {
    expect(.notFound) { _ = try manager.openDatastore("missing") }
    expect(.notFound) { _ = try manager.openDatastore(".Missing") }
    expect(.notFound) { try manager.deleteDatastore("missing") }
    #expect(try manager.listDatastores() == [])
    let datastore = try manager.openOrCreateDatastore("here")
    try datastore.close()
    try manager.deleteDatastore("here")
    expect(.notFound) { _ = try manager.openDatastore("here") }
    #expect(try manager.listDatastores() == [])
    #expect(try manager.openOrCreateDatastore("here").recordCount == 0)
  }

  @Test func `an account's datastore is uncached, not deleted, and fetched again`() async throws {
    let manager = try linked()
    let datastore = try manager.openDefaultDatastore()
    try datastore.add("published")
    try await datastore.exchange()
    try datastore.add("not-published")
    expect(.alreadyOpen) { try manager.deleteDatastore("default") }
    expect(.alreadyOpen) { try manager.uncacheDatastore("default") }
    let device = datastore.device
    try datastore.close()
    expect(.notFound) { try manager.uncacheDatastore("missing") }
    try manager.uncacheDatastore("default")
    #expect(try manager.listDatastores() == [])
    expect(.notFound) { try manager.uncacheDatastore("default") }
    let again = try manager.openDefaultDatastore()
    #expect(try again.ids() == [] && again.device != device)
    try await again.pull()
    #expect(try again.ids() == ["published"])
  }

  @Test func `a local datastore can't be uncached`() throws {
    try manager.openDefaultDatastore().close()
    expect(.invalidOperation) { try manager.uncacheDatastore("default") }
    #expect(try manager.listDatastores().map(\.id) == ["default"])
  }
}
