import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Synchronization
import Testing

@testable import Cairn

/// Two copies of a device that publish under one name without seeing each other, because a sync
/// engine lags: whoever has read the one or the other ends with both.
@Suite struct ForkTests {
  /// A device and its clone, each in a view of the folder of its own, and a reader in each.
  private final class Scene {
    let bench: IdentityBench
    var a: Datastore
    var b: Datastore
    var readers: [Datastore] = []
    var all: [Datastore] { [a, b] + readers }

    init(_ seed: UInt64 = 1, smallFileBytes: UInt64 = Tuning().smallFileBytes) async throws {
      bench = IdentityBench(seed: seed)
      bench.options.tuning.smallFileBytes = smallFileBytes
      var readers: [Datastore] = []
      let a = try bench.open("a")
      try a.table("t").setRule(.sum, field: "n")
      try a.table("t").insert(["n": 100, "l": .list(["x"])], id: "r")
      try a.add("common")
      try await a.exchange()
      for name in ["c", "d"] {
        let reader = try bench.open(name)
        try await reader.pull()
        try await reader.exchange()
        readers.append(reader)
      }
      try await a.pull()
      try await a.exchange()
      for device in [a] + readers { try device.close() }
      bench.clone("a", as: "b")
      for view in ["one", "two"] {
        for path in bench.folder.paths() {
          try bench.disk("folder " + view).setBytes(path, bench.folder.bytes(path) ?? [])
        }
      }
      for (name, view) in [("a", "one"), ("c", "one"), ("b", "two"), ("d", "two")] {
        bench.view(view, of: name)
      }
      self.a = try bench.open("a")
      b = try bench.open("b")
      self.readers = [try bench.open("c"), try bench.open("d")]
    }

    /// The engine brings the views together; everybody sees the same from now on.
    func merge(winner: String) throws {
      try bench.merge(["one", "two"], winner: winner)
      for device in all { try device.close() }
      a = try bench.open("a")
      b = try bench.open("b")
      readers = [try bench.open("c"), try bench.open("d")]
    }
  }

  /// The head that a view of the folder has of a device.
  private func head(of device: Datastore, in view: MemoryDisk) throws -> Head {
    let path = "/folder/p-notes/\(device.device).head"
    return try Head(try #require(view.bytes(path)), name: path, datastore: nil)
  }

  private func work(_ device: Datastore, _ name: String, count: Int) async throws {
    for index in 0..<count {
      let record = try #require(try device.table("t").record("r"))
      try record.set("n", .int((try record.int("n") ?? 0) + 10))
      try record.list("l").append(.string("\(name)\(index)"))
      try device.add("\(name)\(index)")
      try await device.exchange()
    }
  }

  @Test(arguments: ["one", "two"], [(1, 1), (1, 3), (3, 1), (2, 2), (9, 2)])
  func `both branches are there in the end, whichever head has won`(
    winner: String, counts: (Int, Int)
  ) async throws {
    let scene = try await Scene()
    try await work(scene.a, "a", count: counts.0)
    try await work(scene.b, "b", count: counts.1)
    #expect(scene.a.device == scene.b.device)
    for reader in scene.readers { try await reader.pull() }
    #expect(try scene.readers[0].ids().contains("a0") && scene.readers[1].ids().contains("b0"))
    try scene.merge(winner: winner)
    #expect(try await scene.bench.settle(scene.all))
    try scene.bench.expectEqual(scene.all)
    let names = (0..<counts.0).map { "a\($0)" } + (0..<counts.1).map { "b\($0)" }
    #expect(try scene.readers[0].ids() == Set(names + ["common", "r"]))
    let record = try #require(try scene.readers[1].table("t").record("r"))
    #expect(try record.int("n") == Int64(100 + 10 * (counts.0 + counts.1)))
    #expect(try Set(record.list("l").values) == Set((names + ["x"]).map { Value.string($0) }))
    #expect(scene.a.device != scene.b.device)
  }

  @Test(arguments: ["one", "two"])
  func `what a reader of the branch that lost has not published stays its own`(
    winner: String
  ) async throws {
    let scene = try await Scene()
    try await work(scene.a, "a", count: 2)
    try await work(scene.b, "b", count: 2)
    for (name, reader) in zip(["c", "d"], scene.readers) {
      try await reader.pull()
      try reader.add("of-\(name)")
      try reader.table("t").record("r")?.list("l").append(.string("of-\(name)"))
      try reader.sync()
    }
    let devices = scene.readers.map(\.device)
    try scene.merge(winner: winner)
    #expect(try await scene.bench.settle(scene.all))
    try scene.bench.expectEqual(scene.all)
    #expect(scene.readers.map(\.device) == devices)
    #expect(try scene.a.ids().isSuperset(of: ["a0", "a1", "b0", "b1", "of-c", "of-d"]))
    let record = try #require(try scene.a.table("t").record("r"))
    let items: [Value] = ["a0", "a1", "b0", "b1", "of-c", "of-d", "x"]
    #expect(try Set(record.list("l").values) == Set(items))
  }

  /// What only memory knows of the head would be there again after a restart.
  @Test func `a snapshot of the branch that lost is withdrawn in the folder, and stays so`()
    async throws
  {
    let scene = try await Scene(smallFileBytes: 0)
    let bench = scene.bench
    try await work(scene.a, "a", count: 1)
    try await work(scene.b, "b", count: 2)
    for reader in scene.readers {
      try await reader.pull()
      try reader.compact()
      try await reader.exchange()
    }
    let published = try head(of: scene.readers[1], in: bench.disk("folder two"))
    let snapshot = try #require(published.snapshot)
    try scene.merge(winner: "one")
    try #require(bench.folder.bytes("/folder/p-notes/\(snapshot.name)") != nil)
    let lost = scene.readers[1]
    #expect(try await lost.pull().isRejoining)
    #expect(try head(of: lost, in: bench.folder).snapshot == nil)
    try lost.close()
    scene.readers[1] = try bench.open("d")
    let late = try bench.open("late")
    try await late.pull()
    #expect(try late.ids() == ["a0", "common", "r"])
    #expect(try await bench.settle(scene.all + [late]), "\(bench.unrest)")
    try bench.expectEqual(scene.all + [late])
    #expect(try late.ids() == ["a0", "b0", "b1", "common", "r"])
  }

  /// Without it the head could not be read, and the datastore could not be opened.
  @Test func `a snapshot that has what no file has any more stays in the head`() async throws {
    let scene = try await Scene(smallFileBytes: 0)
    let (bench, script) = (scene.bench, ScriptedFolder.Script())
    let view = bench.disk("folder one")
    try await work(scene.a, "a", count: 1)
    try await work(scene.b, "b", count: 1)
    var c = scene.readers[0]
    try await c.pull()
    try c.add("of-c")
    try await c.exchange()
    try c.compact()
    #expect(try await c.exchange().publishedSnapshot)
    let files = view.paths().filter { $0.contains("/\(c.device)-") && $0.hasSuffix(".seg") }
    try #require(files.count == 1)
    try view.remove(files[0])
    for _ in 0..<4 { try await c.exchange() }
    #expect(try head(of: c, in: view).gaps == [1...1])
    // No new one is due by itself.
    bench.options.tuning.smallFileBytes = Tuning().smallFileBytes
    bench.scripts["c"] = script
    try scene.merge(winner: "two")
    c = scene.readers[0]
    let exchange = try #require(c.exchanger)
    #expect(try await c.pull().isRejoining)
    // The folder may have to get the newer head back first.
    for _ in 0..<4 where exchange.isRejoining { try await c.pull() }
    try #require(!exchange.isRejoining)
    try #require(exchange.memory.withLock { $0.forked.isEmpty })
    // Nor can one be put there now.
    script.write { path, _ in path.hasSuffix(".snap") ? .lost : .whole }
    script.hide(".snap")
    try await c.exchange()
    try c.close()
    c = try bench.open("c")
    let left = try head(of: c, in: bench.folder)
    #expect(left.gaps == [1...1] && left.snapshot?.vector[c.store.device] == 1)
  }

  /// Its file is in the folder, and others may have read the head.
  @Test func `what a head names that may have arrived is not written anew on the other branch`()
    async throws
  {
    let scene = try await Scene()
    let (bench, script) = (scene.bench, ScriptedFolder.Script())
    try scene.readers[0].close()
    bench.scripts["c"] = script
    scene.readers[0] = try bench.open("c")
    try await work(scene.a, "a", count: 2)
    try await work(scene.b, "b", count: 1)
    try await scene.readers[0].pull()
    try scene.readers[0].add("of-c")
    script.write { path, _ in path.hasSuffix(".head") ? .lost : .whole }
    #expect(await scene.readers[0].exchangeError()?.code == .timeout)
    script.write(nil)
    try scene.merge(winner: "two")
    // Before it hears that somebody has more of its name than it has published.
    try await scene.b.exchange()
    let c = scene.readers[0]
    let name = c.device
    let report = try await c.pull()
    #expect(report.isRejoining && report.publishedDeltas == 1 && c.publishedDeltas == 1)
    let files = bench.folder.paths().filter {
      $0.contains("/\(name)-") && $0.hasSuffix(".seg")
    }
    try #require(files.count == 1)
    let bytes = try #require(bench.folder.bytes(files[0]))
    let published = try PublishedSegment(bytes, name: files[0], datastore: c.store.datastore)
    let own = try #require(try c.store.ownPack(after: 0, through: 1, limit: .max)?.pack)
    #expect(try DeltaChain.values(of: own, after: 0) == [published.chainAfter])
    // It builds on as many deltas of that name.
    try await work(scene.b, "later", count: 1)
    #expect(try await bench.settle(scene.all), "\(bench.unrest)")
    try bench.expectEqual(scene.all)
    #expect(try c.ids() == ["a0", "a1", "b0", "common", "later0", "of-c", "r"])
    #expect(c.device == name && scene.a.device != scene.b.device)
  }

  @Test func `a device that was retired on the branch that lost stays so`() async throws {
    let scene = try await Scene()
    try await work(scene.a, "a", count: 3)
    try await work(scene.b, "b", count: 1)
    let retired = scene.readers[1].store.device
    try await scene.readers[0].pull()
    try scene.readers[0].store.retire(retired)
    try scene.readers[0].sync()
    try #require(scene.readers[0].store.cuts.cuts.count == 1)
    let name = scene.readers[0].store.device
    try scene.merge(winner: "two")
    try scene.readers[1].add("of-d")
    try await scene.readers[1].exchange()
    let c = scene.readers[0]
    #expect(c.store.retired == [retired])
    #expect(try await c.pull().isRejoining)
    try await c.pull()
    #expect(c.store.device == name && c.store.vector[name] == 1)
    #expect(c.store.retired == [retired] && c.store.cuts.cuts == [])
    #expect(try await scene.bench.settle(scene.all), "\(scene.bench.unrest)")
    try scene.bench.expectEqual(scene.all)
    #expect(scene.all.allSatisfy { $0.store.retired == [retired] })
    #expect(try c.ids() == ["a0", "a1", "a2", "b0", "common", "of-d", "r"])
    try c.askToForget()
    try c.sync()
    let cut = try #require(c.store.cuts.cuts.first)
    #expect(cut.dot.device == name && !cut.members.contains(retired))
    #expect(cut.context[retired] == 1)
  }

  /// The switch makes other bytes of the same deltas, and the next process knows only these.
  @Test func `what was uploaded for the branch that lost is removed before the switch`()
    async throws
  {
    let scene = try await Scene()
    let (bench, script) = (scene.bench, ScriptedFolder.Script())
    bench.options.graceSeconds = 3600
    try scene.readers[0].close()
    bench.scripts["c"] = script
    scene.readers[0] = try bench.open("c")
    let name = scene.readers[0].device
    try await work(scene.a, "a", count: 2)
    try await work(scene.b, "b", count: 1)
    try await scene.readers[0].pull()
    script.write { path, _ in path.hasSuffix(".seg") ? .unanswered : .whole }
    var code: CairnError.Code?
    do { try await work(scene.readers[0], "c", count: 1) } catch {
      code = (error as? CairnError)?.code
    }
    #expect(code == .timeout)
    script.write(nil)
    try scene.merge(winner: "two")
    func files() -> [String] {
      bench.folder.paths().filter { $0.contains("/\(name)-") && $0.hasSuffix(".seg") }
    }
    try #require(files().count == 1)
    let exchange = try #require(scene.readers[0].exchanger)
    let report = try await scene.readers[0].pull()
    #expect(report.isRejoining && exchange.isRejoining && files() == [])
    #expect(report.waiting.contains { $0.name.hasPrefix(name + "-") })
    for _ in 0..<3 where exchange.isRejoining { try await scene.readers[0].pull() }
    #expect(!exchange.isRejoining && files() == [])
    try scene.readers[0].close()
    scene.readers[0] = try bench.open("c")
    #expect(try await bench.settle(scene.all), "\(bench.unrest)")
    try bench.expectEqual(scene.all)
    let c = scene.readers[0]
    #expect(c.device == name && files().count == 1)
    #expect(try c.ids() == ["a0", "a1", "b0", "c0", "common", "r"])
    let record = try #require(try c.table("t").record("r"))
    #expect(try record.int("n") == 140)
    let items: [Value] = ["a0", "a1", "b0", "c0", "x"]
    #expect(try Set(record.list("l").values) == Set(items))
    #expect(try record.list("l").values.count == 5)
  }

  @Test func `a title that is set once a shorter branch was taken over shows in the list`()
    async throws
  {
    let scene = try await Scene()
    try await work(scene.a, "a", count: 3)
    try await work(scene.b, "b", count: 1)
    try await scene.readers[0].pull()
    let deltas = scene.readers[0].store.vector.total
    try scene.merge(winner: "two")
    let c = scene.readers[0]
    #expect(try await c.pull().isRejoining)
    #expect(c.store.vector.total == deltas - 2)
    try c.setTitle("new")
    try c.sync()
    #expect(c.store.vector.total == deltas - 1)
    #expect(try c.manager.listDatastores().map(\.title) == ["new"])
    let info = try InfoFile.read("/root/p-notes", disk: scene.bench.disk("c"))
    #expect(info?.view.title == "new" && info?.view.deltas == deltas - 1)
  }

  /// A name of a list's item is a delta and a number, and both branches count alike.
  @Test(arguments: [(2, 1), (1, 1), (1, 2)])
  func `what a reader did to a list on the branch that lost is about nothing of the other one`(
    counts: (Int, Int)
  ) async throws {
    let scene = try await Scene()
    try await work(scene.a, "a", count: counts.0)
    try await work(scene.b, "b", count: counts.1)
    let c = scene.readers[0]
    try await c.pull()
    let list = try #require(try c.table("t").record("r")).list("l")
    try #require(try list.values == ["x", "a0"] + (counts.0 > 1 ? ["a1"] : []))
    try list.append("behind")
    try list.replace(at: 1, with: "of-c")
    try list.remove(at: 0)
    try list.insert("first", at: 0)
    try c.sync()
    try scene.merge(winner: "two")
    #expect(try await scene.bench.settle(scene.all), "\(scene.bench.unrest)")
    try scene.bench.expectEqual(scene.all)
    let values = try #require(try scene.b.table("t").record("r")).list("l").values
    let theirs = (0..<counts.0).map { "a\($0)" } + (0..<counts.1).map { "b\($0)" }
    #expect(Set(values) == Set((theirs + ["behind", "first"]).map { Value.string($0) }))
    #expect(values.count == theirs.count + 2)
  }

  @Test func `what a reader wrote on the branch that lost has not seen the other one`()
    async throws
  {
    let scene = try await Scene()
    try await work(scene.a, "a", count: 1)
    try #require(try scene.b.table("t").record("r")).set("s", "of-b")
    try await work(scene.b, "b", count: 1)
    let c = scene.readers[0]
    try await c.pull()
    scene.bench.clock.advance(by: 7)
    try #require(try c.table("t").record("r")).set("s", "of-c")
    try c.sync()
    try scene.merge(winner: "two")
    #expect(try await scene.bench.settle(scene.all), "\(scene.bench.unrest)")
    try scene.bench.expectEqual(scene.all)
    // Whoever was first, since neither had seen the other.
    #expect(try scene.a.table("t").record("r")?.string("s") == "of-b")
  }
}
