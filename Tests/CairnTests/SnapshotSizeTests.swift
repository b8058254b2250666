import CairnDisk
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Folders that know no parts of files, and a snapshot that is too large for them.
@Suite struct SnapshotSizeTests {
  private let bench: FolderWorkbench
  private let hook = HookedFolder.Switch()

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    // Due whenever there is one.
    bench.options.tuning.smallFileBytes = 0
  }

  /// Each request of that kind for a snapshot fails from now on; which ones there were.
  private func refuse(
    _ kind: HookedFolder.Request, _ code: CairnError.Code = .sizeLimit
  ) -> Told<String> {
    let told = Told<String>()
    hook.set { request, path throws(CairnError) in
      guard request == kind, path.hasSuffix(".snap") else { return }
      told.add(path)
      throw CairnError(code, "\(path) is too large", file: path)
    }
    return told
  }

  @Test(arguments: [
    CairnError.Code.diskSpace, .fileIO, .quota, .server, .memory, .system, .invalidOperation,
  ])
  func `what the folder does not take now holds up nothing, and is tried ever more seldom`(
    code: CairnError.Code
  ) async throws {
    let a = try bench.open("a", hook)
    try a.add("a")
    try a.sync()
    try a.compact()
    let asked = refuse(.write, code)
    let report = try await a.exchange()
    #expect(report.publishedDeltas == 1 && !report.publishedSnapshot)
    #expect(report.problems.map(\.reason) == ["\(asked.all[0]) is too large"])
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == a.ids())
    for _ in 0..<20 { _ = try await a.exchange() }
    #expect((2..<10).contains(asked.all.count), "\(asked.all.count)")
    hook.set(nil)
    var isPublished = false
    for _ in 0..<20 { isPublished = try await a.exchange().publishedSnapshot || isPublished }
    #expect(isPublished)
  }

  @Test func `what the folder can't write is tried once, said, and holds up nothing`() async throws
  {
    let a = try bench.open("a", hook)
    try a.add("a")
    try a.sync()
    try a.compact()
    let asked = refuse(.write)
    let report = try await a.exchange()
    #expect(report.publishedDeltas == 1 && !report.publishedSnapshot)
    #expect(report.problems.map(\.reason) == [
      "\(asked.all[0]) is too large; new devices fetch all deltas instead"
    ])
    try a.add("later")
    let next = try await a.exchange()
    #expect(next.publishedDeltas == 1 && next.problems.isEmpty)
    #expect(asked.all.count == 1)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == a.ids())
    // Another process may have another folder, with parts.
    hook.set(nil)
    try a.close()
    let again = try bench.open("a", hook)
    #expect(try await again.exchange().publishedSnapshot)
  }

  @Test func `what the folder can't read is taken from the deltas`() async throws {
    let a = try await bench.publisher("a")
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let asked = refuse(.read)
    let b = try bench.open("b", hook)
    let report = try await b.pull()
    #expect(!report.fetchedSnapshot && report.fetchedDeltas > 0)
    #expect(report.problems.map(\.reason) == [
      "\(asked.all[0]) is too large; all deltas are fetched instead"
    ])
    #expect(try b.ids() == a.ids())
    _ = try await b.exchange()
    #expect(asked.all.count == 1)
  }

  @Test(arguments: [
    CairnError.Code.memory, .system, .invalidOperation, .illegalArgument, .diskSpace, .internal,
  ])
  func `what the folder does not read, whatever it says, is taken from the deltas`(
    code: CairnError.Code
  ) async throws {
    let a = try await bench.publisher("a")
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let asked = refuse(.read, code)
    let b = try bench.open("b", hook)
    let report = try await b.exchange()
    #expect(!report.fetchedSnapshot && report.fetchedDeltas > 0)
    #expect(report.problems.map(\.reason) == [
      "\(asked.all[0]) is too large; all deltas are fetched instead"
    ])
    try b.sync()
    #expect(try b.ids() == a.ids())
    #expect(asked.all.count == 1)
    // What is gone from the folder otherwise is waited for, and asked for ever more seldom.
    for name in try bench.segments(a) { try bench.remove(bench.shared + "/" + name) }
    let c = try bench.open("c", hook)
    for _ in 0..<20 { #expect(try await c.exchange().complaints.isEmpty == false) }
    #expect((3..<10).contains(asked.all.count), "\(asked.all.count)")
    hook.set(nil)
    for _ in 0..<20 { try await c.pull() }
    #expect(try c.ids() == a.ids())
  }

  @Test func `a connection that breaks at each try of a snapshot ends some rounds and not all`()
    async throws
  {
    let a = try await bench.publisher("a")
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let asked = refuse(.read, .timeout)
    let b = try bench.open("b", hook)
    var errors: [CairnError.Code] = []
    for _ in 0..<3 { if let error = await b.exchangeError() { errors.append(error.code) } }
    #expect(errors == [.timeout, .timeout] && asked.all.count == 2)
    try b.sync()
    #expect(try b.ids() == a.ids())
  }

  @Test func `a connection that breaks at each try to write one keeps no changes back for long`()
    async throws
  {
    let a = try bench.open("a", hook)
    try a.add("a")
    try a.sync()
    try a.compact()
    let asked = refuse(.write, .network)
    var errors: [CairnError.Code] = []
    for _ in 0..<3 { if let error = await a.exchangeError() { errors.append(error.code) } }
    #expect(errors == [.network, .network] && asked.all.count == 2)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == a.ids())
    hook.set(nil)
    var isPublished = false
    for _ in 0..<6 { isPublished = try await a.exchange().publishedSnapshot || isPublished }
    #expect(isPublished)
  }

  @Test(arguments: [".head", ".seg"])
  func `a file that is too large for the folder stops no other one`(suffix: String) async throws {
    let (a, c) = (try await bench.publisher("a"), try await bench.publisher("c"))
    let device = a.device
    hook.set { request, path throws(CairnError) in
      guard request == .read, path.hasSuffix(suffix), path.contains(device) else { return }
      throw CairnError(.sizeLimit, "\(path) is too large", file: path)
    }
    let b = try bench.open("b", hook)
    let report = try await b.pull()
    #expect(report.problems.count == 1 && report.problems[0].name.hasSuffix(suffix))
    #expect(try b.ids() == ["c"])
    hook.set(nil)
    try await b.pull()
    #expect(try b.ids() == ["a", "c"])
    try c.close()
  }

  /// With a budget of little an hour there is no room for it for long.
  @Test func `a snapshot that waits to be published is hashed once, not with each try`()
    async throws
  {
    let bench = CatalogueBench()
    bench.options.tuning.smallFileBytes = 0
    let (machine, hook, disk) = (bench.machine, hook, bench.disk)
    let manager = DatastoreManager(
      root: "/a", account: Account(user: "ann", folder: .directory("/folder")),
      folder: { HookedFolder(base: DirectoryFolder("/folder", machine: machine), hook: hook) },
      options: bench.options, machine: machine)
    let a = try manager.openOrCreateDatastore("n")
    func reads() -> Int {
      disk.readLog.count { $0.verb == "read" && $0.path == a.store.snapshotFile()?.path }
    }
    for round in 0..<2 {
      // The second one is due when as much has come as the first one has.
      let bytes = Value.bytes(SeededRandom(UInt64(round)).bytes(30_000 + 20_000 * round))
      try a.table("t").insert(["bytes": bytes], id: RecordID("a\(round)"))
      try a.sync()
      try a.compact()
      let asked = refuse(.write, .quota)
      disk.logReads()
      for _ in 0..<20 { _ = try await a.exchange() }
      // This folder takes it whole, so each try reads it once to send it.
      #expect(asked.all.count > 2 && reads() == asked.all.count + 1, "\(reads()) reads")
      hook.set(nil)
      var isPublished = false
      for _ in 0..<40 where !isPublished { isPublished = try await a.exchange().publishedSnapshot }
      #expect(isPublished)
    }
    let b = try bench.manager("b").openOrCreateDatastore("n")
    #expect(try await b.pull().fetchedSnapshot)
    #expect(try content(b) == content(a))
  }

  @Test func `a repair does not call damaged what it can't read`() async throws {
    let a = try bench.open("a", hook)
    try a.add("a")
    try a.sync()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let name = try #require(try bench.names(bench.shared, ".snap").first)
    _ = refuse(.read)
    let repair = try await a.repairFolder()
    #expect(repair.unread == [name] && repair.damaged.isEmpty && repair.missing.isEmpty)
    #expect(!repair.publishedSnapshot)
  }
}
