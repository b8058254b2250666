import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import Cairn

/// Which snapshots get into the folder and from there, and which stay.
@Suite struct SnapshotKeepingTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    // Due whenever as much has come as the last one has.
    bench.options.tuning.smallFileBytes = 0
  }

  private func snapshots() throws -> [String] { try bench.names(bench.shared, ".snap") }

  /// Its file is not only its writer's: a new device may be reading it.
  @Test(arguments: [true, false])
  func `a snapshot that was replaced stays while another device vouches for it`(
    isVouched: Bool
  ) async throws {
    bench.options.graceSeconds = 0
    let (a, b) = (try await bench.publisher("a"), try bench.open("b"))
    try b.add("b")
    try await bench.meet(a, b)
    try a.compact()
    if isVouched { try b.compact() }
    #expect(try await a.exchange().publishedSnapshot)
    try b.add("later")
    #expect(try await b.exchange().publishedSnapshot == isVouched)
    let first = try snapshots()
    try #require(first.count == 1)
    try a.table("t").insert(["bytes": .bytes(sample(1, 100_000))], id: "bulk")
    try a.sync()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    try a.add("more")
    try await a.exchange()
    #expect(try snapshots().contains(first[0]) == isVouched)
    #expect(try snapshots().count == (isVouched ? 2 : 1))
  }

  @Test(arguments: [CairnError.Code.network, .retryLater], [false, true])
  func `a replaced snapshot whose removal fails goes with a later exchange`(
    code: CairnError.Code, reopens: Bool
  ) async throws {
    bench.options.graceSeconds = 0
    let (hook, removals) = (HookedFolder.Switch(), Told<String>())
    var a = try bench.open("a", hook)
    try a.add("a")
    try a.sync()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let first = try #require(try snapshots().first)
    try a.table("t").insert(["bytes": .bytes(sample(1, 100_000))], id: "bulk")
    try a.sync()
    try a.compact()
    hook.set { request, path throws(CairnError) in
      guard request == .remove, path.hasSuffix(".snap") else { return }
      removals.add(path)
      if removals.all.count == 1 { throw CairnError(code, "not now", file: path) }
    }
    let error = await a.exchangeError()?.code
    #expect(error == (code == .network ? .network : nil))
    #expect(try snapshots().count == 2 && removals.all.count == 1)
    if reopens {
      try a.close()
      a = try bench.open("a", hook)
    }
    for _ in 0..<3 { #expect(try await a.exchange().problems == []) }
    #expect(try snapshots().count == 1 && !snapshots().contains(first))
    #expect(removals.all.count == 2)
    #expect(try await a.exchange().isIdle)
  }

  /// Others would have deltas of this device that its head does not know of: as if a copy of it had
  /// published them.
  @Test func `a snapshot with own deltas that are not published yet waits for them`() async throws {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    try a.add("first")
    let isOver = Flag()
    hook.set { request, path throws(CairnError) in
      guard request == .write, path.hasSuffix(".seg"), isOver.raise() else { return }
      do {
        try a.add("meanwhile")
        try a.compact()
      } catch { throw CairnError(.fileIO, "\(error)") }
    }
    let report = try await a.exchange()
    hook.set(nil)
    #expect(isOver.isUp && report.publishedDeltas == 1)
    #expect(try !report.publishedSnapshot && snapshots() == [])
    #expect(try await a.exchange().publishedSnapshot)
    let b = try bench.open("b")
    #expect(try await b.exchange().fetchedSnapshot)
    try b.sync()
    #expect(try b.ids() == ["first", "meanwhile"])
  }

  /// A folder may say anything: what a device stores for it has a bound.
  @Test(arguments: [0, 1] as [UInt64])
  func `a snapshot above 64 GiB is not asked for`(excess: UInt64) async throws {
    _ = try await bench.publisher("a")
    let size = (64 << 30) + excess
    let identity = DatastoreManager.identity(of: bench.id, generation: 0)
    var head = Head(datastore: identity, device: DeviceID(rawValue: 2))
    (head.generation, head.last) = (1, 1)
    head.snapshot = Head.Snapshot(
      hash: 5, size: size, content: 9,
      vector: VersionVector([Dot(device: head.device, sequence: 1)]), fence: VersionVector())
    let name: String = FileName.sharedSnapshot(5 as UInt128)
    try bench.write(bench.shared + "/" + FileName.head(device: 2), head.encoded())
    try bench.write(bench.shared + "/" + name, [1, 2, 3])
    let script = ScriptedFolder.Script()
    script.list { _, entries in
      entries.map { entry in
        var entry = entry
        if entry.name == name { entry.size = size }
        return entry
      }
    }
    let b = try bench.open("b", script)
    let report = try await b.exchange()
    #expect(script.reads.contains { $0.hasSuffix(name) } == (excess == 0))
    #expect(!report.fetchedSnapshot && report.fetchedDeltas == 1)
  }
}
