import Cairn
import CairnDisk
import TestSupport
import Testing

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
}
