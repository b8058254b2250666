import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Who is told of which changes, and when.
@Suite(.timeLimit(.minutes(20))) struct ChangesTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  private func local() throws -> Datastore {
    try DatastoreManager(root: bench.place.path + "/local").openDefaultDatastore()
  }

  // MARK: local changes

  @Test func `each kind of local change is told as it is made`() async throws {
    let datastore = try local()
    var changes = datastore.changes.makeAsyncIterator()
    let table = try datastore.table("t")
    let record = try table.insert(["a": 1], id: "r")
    #expect(await changes.next() == .local(["t": ["r"]]))
    try record.set("a", 2)
    #expect(await changes.next() == .local(["t": ["r"]]))
    _ = try table.getOrInsert("r", fields: ["b": 1])
    _ = try table.getOrInsert("s", fields: ["b": 1])
    #expect(await changes.next() == .local(["t": ["s"]]), "nothing was inserted the first time")
    try record.delete()
    try record.delete()
    #expect(await changes.next() == .local(["t": ["r"]]))
    try datastore.setTitle("A title")
    #expect(await changes.next() == .local([":info": ["info"]]))
    try datastore.sync()
    try table["s"].set("b", 2)
    #expect(await changes.next() == .local(["t": ["s"]]), "a commit changes nothing to be seen")
  }

  @Test func `what is not read yet is joined`() async throws {
    let datastore = try local()
    let changes = datastore.changes
    for name in ["x", "y"] {
      for index in 0..<3 {
        try datastore.table(name).insert(["i": .int(Int64(index))], id: RecordID("\(index)"))
      }
    }
    var iterator = changes.makeAsyncIterator()
    let change = try #require(await iterator.next())
    #expect(change == .local(["x": ["0", "1", "2"], "y": ["0", "1", "2"]]))
    #expect(change.isLocal && change.isComplete && change.wholeTables == [])
    #expect(change.records(in: "x") == ["0", "1", "2"] && change.records(in: "z") == [])
    #expect(change.affects("x") && !change.affects("z"))
  }

  @Test func `what was refused is not told`() async throws {
    let datastore = try local()
    let table = try datastore.table("t")
    try table.insert(["a": 1], id: "r")
    var changes = datastore.changes.makeAsyncIterator()
    #expect(throws: CairnError.self) { try table.insert(["a": 2], id: "r") }
    #expect(throws: CairnError.self) { try table["none"].set("a", 2) }
    #expect(throws: CairnError.self) { try table["r"].update(["": 2]) }
    #expect(throws: CairnError.self) {
      try table["r"].set("a", .string(String(repeating: "x", count: 200_000)))
    }
    try table.insert(["a": 1], id: "s")
    #expect(await changes.next() == .local(["t": ["s"]]))
  }

  @Test func `a roll-back tells what it took back`() async throws {
    let datastore = try local()
    let table = try datastore.table("t")
    for id in ["kept", "changed", "deleted"] { try table.insert(["a": 1], id: RecordID(id)) }
    try datastore.sync()
    try table["changed"].set("a", 2)
    try table["deleted"].delete()
    try table.insert(["a": 1], id: "inserted")
    var changes = datastore.changes.makeAsyncIterator()
    try datastore.rollback()
    #expect(await changes.next() == .local(["t": ["changed", "deleted", "inserted"]]))
    try datastore.rollback()
    try datastore.close()
    #expect(await changes.next() == nil, "there was nothing left to take back")
  }

  @Test func `very many changes are told as a whole table`() async throws {
    let datastore = try local()
    let updates = datastore.changes
    let table = try datastore.table("big")
    try datastore.table("small").insert(["a": 1], id: "r")
    for index in 0..<ChangedRecords.idsMax {
      try table.insert(["i": .int(Int64(index))], id: RecordID("\(index)"))
    }
    var changes = updates.makeAsyncIterator()
    let change = try #require(await changes.next())
    #expect(change.isLocal && !change.isComplete && change.wholeTables == ["big"])
    #expect(change.records == ["small": ["r"]])
    #expect(change.records(in: "big") == nil && change.affects("big"))
    try table["7"].set("i", 0)
    #expect(await changes.next() == .local(["big": ["7"]]), "the next one is exact again")
  }

  // MARK: remote changes

  @Test func `other devices' changes are told once a sync that shows them`() async throws {
    let a = try await bench.publisher("a")
    let c = try await bench.publisher("c")
    let b = try bench.open("b")
    let told = Told<DatastoreChange>()
    let observation = b.observe(on: { $0() }) { told.add($0) }
    try await b.exchange()
    #expect(told.all == [], "what was fetched is not visible yet")
    let result = try b.sync()
    #expect(told.all == [.remote(["t": ["a", "c"]])])
    #expect(told.all.first?.records == result.changedRecords)
    #expect(told.all.first?.isLocal == false)
    try b.sync()
    try await b.pull()
    #expect(told.all.count == 1, "nothing is affected")
    try a.table("t")["a"].delete()
    try a.sync()
    try await a.exchange()
    try await b.pull()
    #expect(told.all.last == .remote(["t": ["a"]]) && told.all.count == 2)
    observation.cancel()
    try c.close()
  }

  @Test func `local and remote changes that wait together are read apart`() async throws {
    _ = try await bench.publisher("a")
    let b = try bench.open("b")
    var changes = b.changes.makeAsyncIterator()
    try b.table("t").insert(["a": 1], id: "mine")
    try await b.pull()
    try b.table("t").insert(["a": 1], id: "mine-too")
    #expect(await changes.next() == .local(["t": ["mine", "mine-too"]]))
    #expect(await changes.next() == .remote(["t": ["a"]]))
  }

  @Test func `a state that is fetched as a whole is told as whole tables`() async throws {
    bench.options.segmentBytes = 1 << 20
    let a = try bench.open("a")
    let random = SeededRandom(1)
    for index in 0..<4000 {
      try a.table("t").insert(
        ["noise": .bytes(random.bytes(100))], id: RecordID("r\(index)"))
    }
    try a.sync()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let b = try bench.open("b")
    var changes = b.changes.makeAsyncIterator()
    #expect(try await b.pull().fetchedSnapshot)
    let change = try #require(await changes.next())
    #expect(!change.isLocal && change.wholeTables.contains("t"))
    #expect(try b.table("t").count == 4000)
  }

  @Test func `a rule that decides a conflict anew is a change`() async throws {
    let devices = try TwoDevices()
    try devices.a.table("t").insert(["n": 1, "m": 1], id: "r")
    try devices.a.table("t").insert(["n": 1], id: "calm")
    try await devices.meet()
    for (device, value) in [(devices.a, 2), (devices.b, 3)] {
      try device.table("t")["r"].set("n", .int(Int64(value)))
      try device.sync()
    }
    try await devices.meet()
    var changes = devices.a.changes.makeAsyncIterator()
    let before = try devices.a.table("t")["r"].int("n")
    try devices.a.table("t").setRule(before == 2 ? .max : .min, field: "n")
    #expect(try devices.a.table("t")["r"].int("n") != before)
    let change = try #require(await changes.next())
    #expect(change.isLocal && change.records(in: "t") == ["r"])
    let there = devices.b.changes
    #expect(try devices.a.sync().changedRecords == [:], "it is no remote change here")
    try await devices.a.exchange()
    try await devices.b.exchange()
    let result = try devices.b.sync()
    #expect(result.changedRecords["t"] == ["r"])
    #expect(result.conflicts.map(\.id) == ["r"])
    var iterator = there.makeAsyncIterator()
    let remote = try #require(await iterator.next())
    #expect(!remote.isLocal && remote.records(in: "t") == ["r"])
  }

  // MARK: subscribers

  @Test func `every subscriber sees everything, from when it began`() async throws {
    let datastore = try local()
    let table = try datastore.table("t")
    var one = datastore.changes.makeAsyncIterator()
    try table.insert(["a": 1], id: "1")
    var two = datastore.changes.makeAsyncIterator()
    try table.insert(["a": 1], id: "2")
    #expect(await one.next() == .local(["t": ["1", "2"]]))
    #expect(await two.next() == .local(["t": ["2"]]))
  }

  @Test func `changes wait for their reader, and end with the datastore`() async throws {
    let datastore = try local()
    let updates = datastore.changes
    let reader = Task {
      var tables: Set<String> = []
      for await change in updates { tables.formUnion(change.records.keys) }
      return tables
    }
    for index in 0..<20 { try datastore.table("t\(index)").insert(["a": 1]) }
    try datastore.close()
    #expect(await reader.value == Set((0..<20).map { "t\($0)" }))
    var late = datastore.changes.makeAsyncIterator()
    #expect(await late.next() == nil)
  }

  @Test func `shutting the manager down ends the sequences, too`() async throws {
    let datastore = try local()
    var changes = datastore.changes.makeAsyncIterator()
    var statuses = datastore.statusChanges.makeAsyncIterator()
    #expect(await statuses.next() != nil)
    try datastore.manager.shutDown()
    #expect(await changes.next() == nil)
    #expect(await statuses.next() == nil)
  }

  @Test func `a handler may change the datastore`() throws {
    let datastore = try local()
    let counter = try datastore.table("t").insert(["n": 0], id: "counter")
    let observation = datastore.observe(on: { $0() }) { _ in
      do {
        let count = try counter.int("n") ?? 0
        if count < 10 { try counter.set("n", .int(count + 1)) }
      } catch { Issue.record(error) }
    }
    try datastore.table("t").insert(["a": 1])
    #expect(try counter.int("n") == 10)
    observation.cancel()
    try datastore.close()
  }

  @Test func `a handler whose call is scheduled when the datastore is closed is not called`()
    async throws
  {
    let datastore = try local()
    let work = Shared<[@Sendable () -> Void]>([])
    let schedule: Scheduler = { body in work.withLock { $0.append(body) } }
    let (changes, statuses) = (Told<DatastoreChange>(), Told<DatastoreStatus>())
    let observations = [
      datastore.observe(on: schedule) { changes.add($0) },
      datastore.observeStatus(on: schedule) { statuses.add($0) },
    ]
    for run in work.exchange([]) { run() }
    #expect(changes.all == [] && statuses.all.count == 1)
    let read = datastore.changes
    try datastore.table("t").insert(["a": 1], id: "r")
    let waiting = work.exchange([])
    #expect(waiting.count == 2)
    try datastore.close()
    for run in waiting + work.exchange([]) { run() }
    #expect(changes.all == [] && statuses.all.count == 1)
    var iterator = read.makeAsyncIterator()
    #expect(await iterator.next() == .local(["t": ["r"]]), "who reads reads all the same")
    for observation in observations { observation.cancel() }
  }

  /// Nobody here has closed anything.
  @Test func `what is scheduled when another device deletes the datastore is still told`() throws {
    let bench = CatalogueBench()
    let datastore = try bench.manager("a").openOrCreateDatastore("n")
    let work = Shared<[@Sendable () -> Void]>([])
    let changes = Told<DatastoreChange>()
    let observation = datastore.observe(on: { body in work.withLock { $0.append(body) } }) {
      changes.add($0)
    }
    try datastore.table("t").insert(["a": 1], id: "r")
    datastore.markDeleted()
    for run in work.exchange([]) { run() }
    #expect(changes.all == [.local(["t": ["r"]])])
    try datastore.close()
    observation.cancel()
  }

  @Test func `nothing is noted while nobody listens`() async throws {
    let datastore = try local()
    try datastore.table("t").insert(["a": 1], id: "before")
    #expect(datastore.store.takeChanges(remote: true).isEmpty)
    var changes: Updates<DatastoreChange>.Iterator? = datastore.changes.makeAsyncIterator()
    try datastore.table("t").insert(["a": 1], id: "r")
    #expect(await changes?.next() == .local(["t": ["r"]]))
    changes = nil
    try datastore.table("t").insert(["a": 1], id: "after")
    #expect(datastore.store.takeChanges(remote: true).isEmpty)
    // Those who only want to know the status need no records.
    let statuses = datastore.statusChanges
    try datastore.table("t").insert(["a": 1], id: "more")
    #expect(datastore.store.takeChanges(remote: true).isEmpty)
    var iterator = statuses.makeAsyncIterator()
    #expect(await iterator.next()?.outgoing == true)
  }

  @Test func `neither subscribers nor handlers keep a datastore`() async throws {
    weak var held: Datastore?
    weak var kept: DatastoreObservers?
    let left: (Updates<DatastoreChange>, Updates<DatastoreStatus>, Observation)
    do {
      let datastore = try local()
      left = (datastore.changes, datastore.statusChanges, datastore.observe(on: { $0() }) { _ in })
      try datastore.table("t").insert(["a": 1])
      (held, kept) = (datastore, datastore.observers)
      try datastore.close()
    }
    #expect(held == nil && kept == nil)
    var iterator = left.0.makeAsyncIterator()
    #expect(await iterator.next()?.isLocal == true)
    #expect(await iterator.next() == nil)
    left.2.cancel()
  }
}

extension DatastoreChange {
  static func local(_ records: [String: [RecordID]]) -> DatastoreChange {
    var changes = StoreChanges()
    for (table, ids) in records { for id in ids { changes.local.insert(id.name, table: table) } }
    return DatastoreChange(changes)
  }

  static func remote(_ records: [String: [RecordID]]) -> DatastoreChange {
    var changes = StoreChanges()
    for (table, ids) in records { for id in ids { changes.remote.insert(id.name, table: table) } }
    return DatastoreChange(changes)
  }
}
