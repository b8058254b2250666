import CairnDisk
import CairnMerge
import CairnStore
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Devices that give way, and files of theirs in the folder that are not what they were.
@Suite struct RetirementFilesTests {
  private let bench = IdentityBench(seed: 57)

  @Test func `a device that gives way waits for a file of its own that is damaged just now`()
    async throws
  {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    let before = try bench.open("away")
    try a.add("begin")
    try await bench.settle([a, b, before])
    try before.close()
    // What it publishes now nobody sees before it was retired.
    bench.use(bench.folder.snapshot(), for: "folder apart")
    bench.view("apart", of: "away")
    let apart = try bench.open("away")
    let name = apart.device
    for number in 0..<4 {
      try apart.add("mine\(number)")
      try await apart.exchange()
    }
    // These are in the folder only from here on, and in the snapshot.
    try apart.compact()
    try apart.add("last")
    try apart.close()
    try a.retireDevice(name)
    try await bench.settle([a, b])
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])

    let own = bench.disk("folder apart").paths().filter { $0.contains("/\(name)") }
    for path in own {
      try bench.folder.setBytes(path, try #require(bench.disk("folder apart").bytes(path)))
    }
    let files = own.filter { $0.hasSuffix(".seg") }.sorted()
    try #require(files.count == 4)
    try bench.folder.corrupt(files[1], 70, xor: 1)
    bench.use(bench.folder, for: "folder all")
    bench.view("all", of: "away")
    let away = try bench.open("away")
    for _ in 0..<3 {
      try await away.exchange()
      try away.sync()
    }
    #expect(away.device == name)
    let all: Set<String> = ["begin", "mine0", "mine1", "mine2", "mine3", "last"]
    #expect(try away.ids() == all)

    try bench.folder.corrupt(files[1], 70, xor: 1)
    bench.clock.advance(by: 86_400_000)
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    try bench.expectEqual([a, b, away])
    #expect(away.device != name)
    #expect(try a.ids() == all)
  }

  @Test func `what a compaction drops between two syncs of a return is taken from the folder`()
    async throws
  {
    bench.options.tuning.segmentBytes = 600
    let (a, b, away) = (try bench.open("a"), try bench.open("b"), try bench.open("away"))
    try a.add("begin")
    try await bench.settle([a, b, away])
    let name = away.device
    try a.retireDevice(name)
    try await bench.settle([a, b])
    for number in 0..<9 { try away.add("mine\(number)") }
    // It publishes in the round in which it hears of that, and then no more.
    try await away.exchange()
    try away.sync()
    for number in 0..<9 { try away.add("later\(number)") }
    #expect(try await away.exchange().isRejoining)
    func log() -> [String] {
      bench.disk("away").paths().filter { $0.hasPrefix("/root/p-notes/log/") }
    }
    let before = log()
    try away.compact()
    #expect(!Set(before).isSubset(of: log()), "some of what is to be taken along is gone")
    try away.sync()
    #expect(away.device == name)
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    #expect(away.device != name)
    try bench.expectEqual([a, b, away])
    #expect(try a.ids().count == 19)
  }

  /// Devices of which `away` was retired. Its files were lost before: what was in them is in its
  /// snapshot only. It had added 5 to a field, and all have that.
  private func withoutFiles() async throws -> (a: Datastore, b: Datastore, away: Datastore) {
    let (a, b, away) = (try bench.open("a"), try bench.open("b"), try bench.open("away"))
    try a.table("t").setRule(.sum, field: "n")
    try a.table("t").insert(["n": 10], id: "r")
    try await bench.settle([a, b, away])
    try away.table("t").record("r")?.set("n", 15)
    try away.sync()
    try await bench.settle([away, a, b])
    try away.compact()
    let lost = bench.folder.paths().filter {
      $0.contains("/\(away.device)") && $0.hasSuffix(".seg")
    }
    #expect(!lost.isEmpty)
    for path in lost { try bench.folder.remove(path) }
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    try a.retireDevice(away.device)
    try await bench.settle([a, b])
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    let seal = a.store.cuts.cuts.first?.seal
    #expect(seal?[away.store.device] == away.store.vector[away.store.device])
    return (a, b, away)
  }

  @Test func `a device that gives way goes without files that the folder has lost`()
    async throws
  {
    let (a, b, away) = try await withoutFiles()
    let name = away.device
    try away.add("mine")
    try away.table("t").record("r")?.set("text", "of away")
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    #expect(away.device != name)
    try bench.expectEqual([a, b, away])
    #expect(try a.ids() == ["r", "mine"])
    // What it adds from here on counts once.
    try away.table("t").record("r")?.set("n", 16)
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    for device in [a, b, away] { #expect(try device.table("t").record("r")?.int("n") == 16) }
  }

  @Test func `how far one of its sums had come is in what the others have`() async throws {
    let (a, b, away) = try await withoutFiles()
    let name = away.device
    try a.table("t").record("r")?.set("n", 115)
    try await bench.settle([a, b])
    try away.table("t").record("r")?.set("n", 16)
    try away.sync()
    try away.table("t").record("r")?.set("n", 18)
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    #expect(away.device != name)
    try bench.expectEqual([a, b, away])
    for device in [a, b, away] { #expect(try device.table("t").record("r")?.int("n") == 118) }
    try away.table("t").record("r")?.set("n", 119)
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    for device in [a, b, away] { #expect(try device.table("t").record("r")?.int("n") == 119) }
  }

  /// Its own snapshot is of when all had the 5.
  @Test func `how far a sum had come that others have replaced is in the own snapshot`()
    async throws
  {
    let (a, b, away) = try await withoutFiles()
    let name = away.device
    try a.table("t").record("r")?.delete()
    try a.table("t").insert(["n": 100], id: "r")
    try await bench.settle([a, b])
    try away.table("t").record("r")?.set("n", 16)
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    #expect(away.device != name)
    try bench.expectEqual([a, b, away])
    for device in [a, b, away] { #expect(try device.table("t").record("r")?.int("n") == 101) }
  }

  @Test func `it waits for its files if its snapshot has what others lack, and its sum is gone`()
    async throws
  {
    let (a, b, away) = try await withoutFiles()
    let name = away.device
    try a.table("t").record("r")?.set("n", "none")
    try await bench.settle([a, b])
    try away.table("t").record("r")?.set("n", 16)
    try away.sync()
    try away.compact()
    #expect(try await !bench.settle([away, a, b]))
    #expect(away.device == name)
    #expect(bench.unrest.contains { $0.contains("its own deltas 1 to 1 are in the folder") })
    #expect(try away.table("t").record("r")?.int("n") == 16)
    for device in [a, b] { #expect(try device.table("t").record("r")?.string("n") == "none") }
  }

  /// The store has its new name as soon as it is put together; the round that did so still writes
  /// under the old one.
  @Test func `a sync while lost files are put back changes no name before the round has ended`()
    async throws
  {
    let script = ScriptedFolder.Script()
    bench.scripts["away"] = script
    let (a, b, away) = (try bench.open("a"), try bench.open("b"), try bench.open("away"))
    try a.add("begin")
    try await bench.settle([a, b])
    let name = away.device
    try await away.pull()
    for number in 1...7 {
      try away.add("mine\(number)")
      try await away.exchange()
      if number == 1 { try await bench.settle([a, b]) }
    }
    try a.retireDevice(name)
    try await bench.settle([a, b])
    let files = bench.folder.paths().filter { $0.contains("/\(name)") && $0.hasSuffix(".seg") }
      .sorted()
    try #require(files.count == 7)
    for path in [files[2], files[4]] { try bench.folder.remove(path) }

    let puts = Lock<[String]>([])
    script.write { [away] path, _ in
      if path.hasSuffix(".seg") {
        // What goes wrong there a later one tells, too.
        do { try away.sync() } catch {}
        puts.withLock { $0.append("/folder/" + path) }
      }
      return .whole
    }
    try await away.pull()
    for _ in 0..<6 { try await away.exchange() }
    #expect(puts.withLock { $0 } == [files[2], files[4]])
    #expect(away.device == name && away.status.incoming)
    script.write(nil)
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    #expect(away.device != name)
    let all = Set((1...7).map { "mine\($0)" } + ["begin"])
    for device in [away, a, b] { #expect(try device.ids() == all) }
    try bench.expectEqual([a, b, away])
  }

  /// Simulation seed 21193: a file went up anew because listings did not show it, and only in part.
  @Test(arguments: [false, true])
  func `what the folder has in part only stays in the log, for whoever was retired meanwhile`(
    isReopened: Bool
  ) async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    var away = try bench.open("away")
    try a.add("begin")
    try await bench.settle([a, b, away])
    let name = away.device
    try away.close()
    // What it publishes now nobody sees before it was retired.
    bench.use(bench.folder.snapshot(), for: "folder apart")
    bench.view("apart", of: "away")
    let apart = bench.disk("folder apart")
    away = try bench.open("away")
    let before = Set(apart.paths())
    try away.add("mine")
    try await away.exchange()
    try a.retireDevice(name)
    try await bench.settle([a, b])
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])

    let files = apart.paths().filter {
      $0.contains("/\(name)") && $0.hasSuffix(".seg") && !before.contains($0)
    }
    try #require(files.count == 1)
    let bytes = try #require(apart.bytes(files[0]))
    try apart.setBytes(files[0], Array(bytes.dropLast(3)))
    if isReopened {
      // It has not looked since.
      try away.close()
      away = try bench.open("away")
    } else {
      // One listing alone may lag behind.
      try await away.exchange()
    }
    try away.compact()
    try away.close()

    for path in apart.paths().filter({ $0.contains("/\(name)") }) {
      try bench.folder.setBytes(path, try #require(apart.bytes(path)))
    }
    bench.use(bench.folder, for: "folder all")
    bench.view("all", of: "away")
    away = try bench.open("away")
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    #expect(away.device != name)
    try bench.expectEqual([a, b, away])
    #expect(try a.ids() == ["begin", "mine"])
  }

  /// Simulation seed 34528: the round that made the return ready wrote the head once more, by half.
  @Test func `a device that gives way leaves its head whole`() async throws {
    let script = ScriptedFolder.Script()
    bench.scripts["away"] = script
    let (a, b, away) = (try bench.open("a"), try bench.open("b"), try bench.open("away"))
    try a.add("begin")
    try await bench.settle([a, b, away])
    let name = away.device
    try away.add("mine")
    try await bench.settle([away, a, b])
    try a.retireDevice(name)
    try await bench.settle([a, b])
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])

    // A head that may have arrived goes up again, even when it is about to be left.
    try away.add("more")
    script.write { path, _ in path.hasSuffix(".head") ? .lost : .whole }
    #expect(await away.exchangeError()?.code == .timeout)
    try away.sync()
    script.write { path, _ in path.hasSuffix(".head") ? .partUnanswered(80) : .whole }
    #expect(await away.exchangeError()?.code == .timeout)
    try away.sync()
    #expect(away.device == name)
    script.write(nil)
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    #expect(away.device != name)
    let late = try bench.open("late")
    #expect(try await bench.settle([late, away, a, b]), "\(bench.unrest)")
    #expect(try await late.exchange().problems == [])
    try bench.expectEqual([a, b, away, late])
    #expect(try late.ids() == ["begin", "mine", "more"])
  }
  /// Simulation seed 36543.
  @Test func `what is only in a snapshot that nobody behind a cut can join others give back`()
    async throws
  {
    let (a, b, before) = (try bench.open("a"), try bench.open("b"), try bench.open("away"))
    try a.add("begin")
    try before.add("before")
    try await bench.settle([a, b, before])
    // Its snapshots have a fence: nobody joins one with less than that.
    try a.askToForget()
    try await bench.settle([a, b, before])
    let (name, id) = (before.device, before.store.device)
    try before.compact()
    try before.close()
    func segments(_ disk: MemoryDisk) -> [String] {
      disk.paths().filter { $0.contains("/\(name)") && $0.hasSuffix(".seg") }
    }
    // What it does now nobody sees before it was retired.
    bench.use(bench.folder.snapshot(), for: "folder apart")
    bench.view("apart", of: "away")
    let disk = bench.disk("folder apart")
    let apart = try bench.open("away")
    try apart.add("mine")
    try await apart.exchange()
    // One of two files it can write again. The first is in a snapshot only, which has `mine`, too.
    for path in segments(disk) { try disk.remove(path) }
    try await apart.exchange()
    try apart.compact()
    for _ in 0..<4 { try await apart.exchange() }
    #expect(segments(disk).count == 1 && disk.paths().contains { $0.hasSuffix(".snap") })
    try apart.close()
    try a.retireDevice(name)
    try await bench.settle([a, b])
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    #expect(a.store.vector[id] == 1)

    for path in segments(bench.folder) { try bench.folder.remove(path) }
    for path in disk.paths() where path.contains("/\(name)") || path.hasSuffix(".snap") {
      try bench.folder.setBytes(path, try #require(disk.bytes(path)))
    }
    bench.use(bench.folder, for: "folder all")
    bench.view("all", of: "away")
    let (away, new) = (try bench.open("away"), try bench.open("new"))
    // It begins to put together what the folder has, and comes to no end.
    for _ in 0..<4 {
      try await away.exchange()
      try away.sync()
    }
    #expect(away.device == name)
    #expect(try await bench.settle([away, new, a, b]), "\(bench.unrest)")
    #expect(away.device != name)
    try bench.expectEqual([a, b, away, new])
    #expect(try a.ids() == ["begin", "before", "mine"])
  }
}
