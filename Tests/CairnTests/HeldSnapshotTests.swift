import Cairn
import CairnBytes
import CairnLog
import TestSupport
import Testing

/// A snapshot that deletes too much, and devices of which each process does one round: what is
/// known of it goes on with the next one.
@Suite struct HeldSnapshotTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.compactsAutomatically = false
  }

  private var store: String { bench.root("b") + "/p-notes" }
  private var held: String { store + "/inbox/HELD" }
  private func onTheirWay() throws -> [String] { try bench.names(store + "/snap", ".tmp") }
  private func isNoted() throws -> Bool {
    try bench.names(store + "/inbox").contains("HELD")
  }

  private func id(_ number: Int) -> RecordID { RecordID("r\(number)") }

  /// Two devices with the same records, of which the second one is closed.
  private func pair(_ count: Int) async throws -> Datastore {
    let a = try bench.open("a")
    for number in 0..<count { try a.table("t").insert(["n": .int(Int64(number))], id: id(number)) }
    try await a.pull()
    try a.sync()
    try await a.exchange()
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids().count == count)
    try b.close()
    return a
  }

  private func delete(_ range: Range<Int>, in datastore: Datastore) async throws {
    for number in range { try datastore.table("t").record(id(number))?.delete() }
    try datastore.sync()
    try await datastore.exchange()
  }

  /// Writes so much that who is behind rather joins a snapshot, and publishes one.
  private func outgrow(_ device: Datastore) async throws {
    let random = SeededRandom(7)
    let table = try device.table("t")
    for round in 0..<20 {
      let bytes = Value.bytes(random.bytes(80_000))
      if round == 0 {
        try table.insert(["bytes": bytes], id: "big")
      } else {
        try table["big"].set("bytes", bytes)
      }
      try device.sync()
    }
    try device.compact()
    #expect(try await device.exchange().publishedSnapshot)
  }

  /// The first device has deleted 290 of 300 records, and has a record of a third one.
  private func deleter() async throws -> Datastore {
    let a = try await pair(300)
    let c = try bench.open("c")
    try await c.pull()
    try c.add("of-c")
    try await c.exchange()
    try await a.pull()
    try await delete(0..<290, in: a)
    try await outgrow(a)
    return a
  }

  /// A process that does one round. Whether it has fetched a snapshot, and what it sees then.
  private func run(deletes: Int) async throws -> (fetched: Bool, ids: Set<String>) {
    let b = try bench.open("b")
    let fetched = try await b.exchange().fetchedSnapshot
    #expect(try b.sync().massDelete?.records == deletes)
    let ids = try b.ids()
    try b.close()
    #expect(try onTheirWay().count <= 1)
    return (fetched, ids)
  }

  @Test func `processes of one round fetch it once, and what others did is seen`() async throws {
    let a = try await deleter()
    for number in 1...4 {
      let (fetched, ids) = try await run(deletes: 290)
      #expect(fetched == (number == 1))
      #expect(ids.contains("of-c") == (number > 1), "it comes in a delta, by itself")
      #expect(ids.isSuperset(of: (0..<300).map { "r\($0)" }))
      #expect(try isNoted() == (number == 1), "all of it is here in deltas then")
    }
    let b = try bench.open("b")
    #expect(try onTheirWay() == [])
    #expect(try b.sync(allowingMassDelete: true).massDelete == nil)
    try await bench.meet(a, b)
    #expect(try content(a) == content(b))
    #expect(try b.ids().count == 12)
  }

  enum Harm: CaseIterable { case none, damaged, cut, newer, removed }

  @Test(arguments: Harm.allCases)
  func `what is noted of it may be lost`(_ harm: Harm) async throws {
    let a = try await deleter()
    #expect(try await run(deletes: 290).fetched)
    var bytes = try bench.read(self.held)
    switch harm {
    case .none: break
    case .damaged: bytes = bytes.flipped(at: 20)
    case .cut: bytes.removeLast()
    case .newer:
      bytes[10] = 9
      bytes.removeLast(8)
      bytes.put(XXH3.hash64(bytes))
    case .removed: bytes = []
    }
    try bench.write(self.held, bytes)
    if harm == .removed { try bench.remove(self.held) }
    #expect(try await run(deletes: 290).fetched == (harm != .none))
    #expect(try await !run(deletes: 290).fetched, "it is noted again")
    let b = try bench.open("b")
    try b.sync(allowingMassDelete: true)
    try await bench.meet(a, b)
    #expect(try content(a) == content(b))
  }

  @Test func `where there are no deltas it is fetched again, and what others did is seen`()
    async throws
  {
    let a = try await pair(100)
    let c = try bench.open("c")
    try await c.pull()
    try c.add("of-c")
    try await c.exchange()
    try await a.pull()
    try await delete(0..<80, in: a)
    let lost = try bench.segments(a).sorted()[1]
    try a.compact()
    try bench.remove(bench.shared + "/" + lost)
    for _ in 0..<3 { try await a.exchange() }
    for number in 1...3 {
      let (fetched, ids) = try await run(deletes: 80)
      #expect(fetched, "it is all that there is")
      #expect(ids.contains("of-c") == (number > 1))
      #expect(ids.isSuperset(of: (0..<100).map { "r\($0)" }))
    }
    let b = try bench.open("b")
    try await b.exchange()
    #expect(try b.sync(allowingMassDelete: true).massDelete == nil)
    #expect(try b.ids().count == 21)
    #expect(try onTheirWay() == [] && !isNoted())
    try await bench.meet(a, b)
    #expect(try content(a) == content(b))
  }

  @Test(arguments: [false, true])
  func `a snapshot with half of what is held is fetched once`(reopens: Bool) async throws {
    let a = try await pair(100)
    let c = try bench.open("c")
    try await c.pull()
    try await delete(0..<30, in: a)
    try await c.pull()
    try await delete(30..<60, in: a)
    var b = try bench.open("b")
    try await b.exchange()
    #expect(try b.sync().massDelete?.records == 60)
    try await outgrow(c)
    var snapshots = 0
    for round in 0..<4 {
      if reopens {
        try b.close()
        b = try bench.open("b")
      }
      if try await b.exchange().fetchedSnapshot { snapshots += 1 }
      #expect(try b.sync().massDelete?.records == 60)
      #expect(try b.ids().isSuperset(of: (0..<100).map { "r\($0)" }))
      // Whoever is here goes on, and so do the others.
      try b.add("own-\(round)")
      try a.add("of-a-\(round)")
      try await a.exchange()
    }
    #expect(snapshots == 1)
    #expect(try onTheirWay() == [] && !isNoted())
    try b.sync(allowingMassDelete: true)
    try await bench.meet(a, b, c)
    #expect(try content(a) == content(b) && content(b) == content(c))
    #expect(try b.ids().count == 49)
  }

  @Test func `half a download goes with the next opening`() async throws {
    _ = try await pair(10)
    let path = store + "/snap/" + FileName.temporary(7)
    try bench.write(path, [1, 2, 3])
    let b = try bench.open("b")
    #expect(try onTheirWay() == [])
    #expect(try b.ids().count == 10)
  }
}
