import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// What is in the folder is at home, too, and is known for the own: whenever the power fails.
@Suite struct PublicationCrashTests {
  private static let home = "a"

  /// A device with one published commit.
  private func begin(_ durability: Options.Durability) async throws -> (IdentityBench, Datastore) {
    let bench = IdentityBench(seed: 3)
    bench.options.durability = durability
    let device = try bench.open(Self.home)
    try device.add("first")
    try await device.exchange()
    return (bench, device)
  }

  private func publish(_ device: Datastore) async throws {
    for id in ["second", "third"] {
      try device.add(id)
      try await device.exchange()
    }
  }

  @Test(arguments: [Options.Durability.full, .none])
  func `a power cut at any step keeps the name, and all that was published`(
    durability: Options.Durability
  ) async throws {
    let (whole, device) = try await begin(durability)
    let before = whole.disk(Self.home).operations
    try await publish(device)
    let count = whole.disk(Self.home).operations - before
    #expect(count > 10)
    for step in 1...(count + 1) {
      let (bench, device) = try await begin(durability)
      let (name, disk) = (device.device, bench.disk(Self.home))
      disk.powerOff(before: disk.operations + step)
      do { try await publish(device) } catch { try #require(disk.isOff, "\(error)") }
      for model in [CrashModel.nothingUnsynced, .everything, .subset(5), .torn(6)] {
        let after = IdentityBench(seed: 4)
        after.options = bench.options
        after.use(disk.crash(keep: model), for: Self.home)
        after.useFolder(bench.folder.snapshot())
        try await goOn(after, name, "power off before step \(step), \(model)")
      }
    }
  }

  private func goOn(_ bench: IdentityBench, _ name: String, _ comment: Comment) async throws {
    let other = try bench.open("b")
    try await other.pull()
    let published = try other.ids()
    #expect(published.contains("first"), comment)
    let device = try bench.open(Self.home)
    #expect(try device.ids().isSuperset(of: published), comment)
    let report = try await device.exchange()
    #expect(!report.isRejoining && report.problems.isEmpty, comment)
    #expect(try device.sync().incorporated == 0, comment)
    #expect(device.device == name, comment)
    try await other.pull()
    try bench.expectEqual([device, other], comment)
  }

  /// The head went up, and the process ended before it had noted that.
  @Test func `what a head names that was not confirmed stays in the log until it was looked for`()
    async throws
  {
    let (bench, script) = (IdentityBench(), ScriptedFolder.Script())
    bench.scripts[Self.home] = script
    let device = try bench.open(Self.home)
    let name = device.device
    try device.add("first")
    script.write { path, _ in path.hasSuffix(".head") ? .unanswered : .whole }
    #expect(await device.exchangeError()?.code == .timeout)
    script.write(nil)
    try device.close()
    let path = try #require(bench.folder.paths().first { $0.hasSuffix(".seg") })
    let other = try bench.open("b")
    try other.add("of-b")
    try await other.exchange()
    try bench.folder.remove(path)
    let again = try bench.open(Self.home)
    let (compactions, troubles) = (Told<Bool>(), Told<String>())
    // The head is found by then, and nothing was looked for.
    script.read { path, bytes in
      if path.hasSuffix(".seg"), compactions.all.isEmpty {
        compactions.add(true)
        do { try again.compact() } catch { troubles.add("\(error)") }
      }
      return bytes
    }
    #expect(try await again.exchange().republishedFiles == 1)
    #expect(compactions.all == [true] && troubles.all == [])
    #expect(bench.folder.bytes(path) != nil && again.device == name)
  }

  @Test func `a file that a round has written that did not come to its head is not written again`()
    async throws
  {
    let (bench, script) = (IdentityBench(), ScriptedFolder.Script())
    bench.scripts[Self.home] = script
    let device = try bench.open(Self.home)
    try device.add("first")
    script.write { path, _ in path.hasSuffix(".head") ? .lost : .whole }
    #expect(await device.exchangeError()?.code == .timeout)
    #expect(bench.folder.paths().count { $0.hasSuffix(".seg") } == 1)
    let written = Told<String>()
    script.write { path, _ in
      if path.hasSuffix(".seg") { written.add(path) }
      return .whole
    }
    #expect(try await device.exchange().publishedDeltas == 1)
    #expect(written.all == [])
    let other = try bench.open("b")
    try await other.pull()
    #expect(try other.ids() == ["first"])
  }

  // MARK: snapshots

  private static let grace: Int64 = 60_000

  /// Benches where a snapshot is due whenever there is one.
  private func dueBench(seed: UInt64) -> IdentityBench {
    let bench = IdentityBench(seed: seed)
    bench.options.graceSeconds = Double(Self.grace / 1000)
    bench.options.tuning.smallFileBytes = 0
    return bench
  }

  /// A device with one published commit, and a snapshot that has not gone up.
  private func beginDue() async throws -> (IdentityBench, Datastore) {
    let bench = dueBench(seed: 3)
    let device = try bench.open(Self.home)
    try device.add("first")
    try await device.exchange()
    try device.compact()
    return (bench, device)
  }

  private func snapshots(_ bench: IdentityBench) -> [String] {
    bench.folder.paths().filter { $0.hasSuffix(".snap") }.compactMap {
      $0.split(separator: "/").last.map(String.init)
    }
  }

  /// Its next snapshot goes up, and its grace goes by: then the folder has no other one.
  private func expectOneSnapshot(
    _ bench: IdentityBench, _ device: Datastore, _ comment: Comment
  ) async throws {
    #expect(try await device.exchange().publishedSnapshot, comment)
    bench.clock.advance(by: Self.grace + 1)
    for _ in 0..<2 { try await device.exchange() }
    let ending = "/" + device.device + ".head"
    let path = try #require(bench.folder.paths().first { $0.hasSuffix(ending) }, comment)
    let head = try Head(try #require(bench.folder.bytes(path)), name: path, datastore: nil)
    let name = try #require(head.snapshot?.name, comment)
    #expect(snapshots(bench) == [name], comment)
    #expect(head.superseded == [] && device.exchanger?.hasUploads == false, comment)
  }

  private func addBulk(_ device: Datastore) throws {
    try device.table("t").insert(["bytes": .bytes(sample(1, 100_000))], id: "bulk")
    try device.sync()
  }

  @Test func `a power cut at any step leaves no snapshot in the folder that no head names`()
    async throws
  {
    let (whole, device) = try await beginDue()
    let before = whole.disk(Self.home).operations
    #expect(try await device.exchange().publishedSnapshot)
    let count = whole.disk(Self.home).operations - before
    #expect(count > 10)
    var left = 0
    for step in 1...(count + 1) {
      let (bench, device) = try await beginDue()
      let disk = bench.disk(Self.home)
      disk.powerOff(before: disk.operations + step)
      do { try await device.exchange() } catch { try #require(disk.isOff, "\(error)") }
      for model in [CrashModel.nothingUnsynced, .everything, .subset(5), .torn(6)] {
        let after = dueBench(seed: 4)
        after.use(disk.crash(keep: model), for: Self.home)
        after.useFolder(bench.folder.snapshot())
        left += snapshots(after).count
        let again = try after.open(Self.home)
        try addBulk(again)
        try again.compact()
        try await expectOneSnapshot(after, again, "power off before step \(step), \(model)")
      }
    }
    #expect(left > 0, "it has gone up before some of the steps")
  }

  /// Nothing of the device's own is new then, so that the next head goes on from the one before.
  @Test func `a snapshot whose head does not arrive goes once the next one is there`() async throws
  {
    let (bench, script) = (dueBench(seed: 3), ScriptedFolder.Script())
    bench.scripts[Self.home] = script
    let (device, other) = (try bench.open(Self.home), try bench.open("b"))
    try device.add("first")
    try await device.exchange()
    try device.compact()
    script.write { path, _ in path.hasSuffix(".head") ? .lost : .whole }
    #expect(await device.exchangeError()?.code == .timeout)
    let first = snapshots(bench)
    #expect(first.count == 1)
    try addBulk(other)
    try await other.exchange()
    #expect(await device.exchangeError()?.code == .timeout)
    #expect(snapshots(bench) == first)
    #expect(try device.sync().incorporated == 1)
    try device.compact()
    script.write(nil)
    try await expectOneSnapshot(bench, device, "the head did not arrive twice")
    #expect(!snapshots(bench).contains(first[0]))
  }

  /// A copy of the device has written a head of their name before the next try.
  @Test(arguments: [false, true])
  func `a snapshot whose head does not arrive goes, too, if the device takes another name`(
    restarts: Bool
  ) async throws {
    let (bench, script) = (dueBench(seed: 3), ScriptedFolder.Script())
    bench.scripts["b"] = script
    let a = try bench.open(Self.home)
    try a.add("first")
    try await a.exchange()
    bench.clone(Self.home, as: "b")
    var b = try bench.open("b")
    try b.compact()
    script.write { path, _ in path.hasSuffix(".head") ? .lost : .whole }
    #expect(await b.exchangeError()?.code == .timeout)
    script.write(nil)
    let first = snapshots(bench)
    #expect(first.count == 1)
    try a.add("of-a")
    try await a.exchange()
    try b.add("of-b")
    #expect(try await b.exchange().isRejoining)
    #expect(try b.sync().newDevice != nil)
    if restarts {
      try b.close()
      b = try bench.open("b")
    }
    #expect(b.exchanger?.uploads == first)
    try b.compact()
    try await expectOneSnapshot(bench, b, "restarts: \(restarts)")
    #expect(!snapshots(bench).contains(first[0]))
  }
}

extension Exchange {
  /// Names of snapshots that are kept as no head is known to have them.
  fileprivate var uploads: [String] { memory.withLock { $0.histories.uploads } }
  fileprivate var hasUploads: Bool { !uploads.isEmpty }
}
