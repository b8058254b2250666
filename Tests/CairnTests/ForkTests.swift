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
  /// The head that a view of the folder has of a device.
  private func head(of device: Datastore, in view: MemoryDisk) throws -> Head {
    let path = "/folder/p-notes/\(device.device).head"
    return try Head(try #require(view.bytes(path)), name: path, datastore: nil)
  }

  @Test(arguments: ["one", "two"], [(1, 1), (1, 3), (3, 1), (2, 2), (9, 2)])
  func `both branches are there in the end, whichever head has won`(
    winner: String, counts: (Int, Int)
  ) async throws {
    let scene = try await ForkScene()
    try await scene.work(scene.a, "a", count: counts.0)
    try await scene.work(scene.b, "b", count: counts.1)
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
    let scene = try await ForkScene()
    try await scene.work(scene.a, "a", count: 2)
    try await scene.work(scene.b, "b", count: 2)
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
    let scene = try await ForkScene(smallFileBytes: 0)
    let bench = scene.bench
    try await scene.work(scene.a, "a", count: 1)
    try await scene.work(scene.b, "b", count: 2)
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
    let scene = try await ForkScene(smallFileBytes: 0)
    let (bench, script) = (scene.bench, ScriptedFolder.Script())
    let view = bench.disk("folder one")
    try await scene.work(scene.a, "a", count: 1)
    try await scene.work(scene.b, "b", count: 1)
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
    let scene = try await ForkScene()
    let (bench, script) = (scene.bench, ScriptedFolder.Script())
    try scene.readers[0].close()
    bench.scripts["c"] = script
    scene.readers[0] = try bench.open("c")
    try await scene.work(scene.a, "a", count: 2)
    try await scene.work(scene.b, "b", count: 1)
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
    try await scene.work(scene.b, "later", count: 1)
    #expect(try await bench.settle(scene.all), "\(bench.unrest)")
    try bench.expectEqual(scene.all)
    #expect(try c.ids() == ["a0", "a1", "b0", "common", "later0", "of-c", "r"])
    #expect(c.device == name && scene.a.device != scene.b.device)
  }

  @Test func `a device that was retired on the branch that lost stays so`() async throws {
    let scene = try await ForkScene()
    try await scene.work(scene.a, "a", count: 3)
    try await scene.work(scene.b, "b", count: 1)
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
  @Test(arguments: [false, true])
  func `what was uploaded for the branch that lost is removed before the switch`(
    isUnreadAtFirst: Bool
  ) async throws {
    let scene = try await ForkScene()
    let (bench, script) = (scene.bench, ScriptedFolder.Script())
    bench.options.graceSeconds = 3600
    try scene.readers[0].close()
    bench.scripts["c"] = script
    scene.readers[0] = try bench.open("c")
    let name = scene.readers[0].device
    try await scene.work(scene.a, "a", count: 2)
    try await scene.work(scene.b, "b", count: 1)
    try await scene.readers[0].pull()
    script.write { path, _ in path.hasSuffix(".seg") ? .unanswered : .whole }
    var code: CairnError.Code?
    do { try await scene.work(scene.readers[0], "c", count: 1) } catch {
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
    if isUnreadAtFirst {
      script.list { _, entries in
        entries.map { entry in
          var entry = entry
          if entry.name.hasPrefix(name + "-") { entry.isPresent = false }
          return entry
        }
      }
      let early = try await scene.readers[0].pull()
      #expect(early.isRejoining && exchange.isRejoining && files().count == 1)
      #expect(early.waiting.contains { $0.name.hasPrefix(name + "-") })
      script.list(nil)
    }
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
    let scene = try await ForkScene()
    try await scene.work(scene.a, "a", count: 3)
    try await scene.work(scene.b, "b", count: 1)
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
  @Test(arguments: [(2, 1, 0), (1, 1, 0), (1, 2, 0), (1, 1, 300)])
  func `what a reader did to a list on the branch that lost is about nothing of the other one`(
    counts: (Int, Int, Int)
  ) async throws {
    let scene = try await ForkScene()
    try await scene.work(scene.a, "a", count: counts.0)
    try await scene.work(scene.b, "b", count: counts.1)
    try await scene.lengthen(scene.b, by: counts.2)
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

  @Test(arguments: [0, 300])
  func `what a reader wrote on the branch that lost has not seen the other one`(
    more: Int
  ) async throws {
    let scene = try await ForkScene()
    try await scene.work(scene.a, "a", count: 1)
    try #require(try scene.b.table("t").record("r")).set("s", "of-b")
    try await scene.work(scene.b, "b", count: 1)
    try await scene.lengthen(scene.b, by: more)
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

  /// In the round that finds its name lost nothing is fetched that would tell of the fork.
  @Test func `a copy that takes another name takes over the branch that has won, too`()
    async throws
  {
    let scene = try await ForkScene()
    let bench = scene.bench
    try await scene.work(scene.a, "a", count: 1)
    try await scene.work(scene.b, "b", count: 2)
    try await scene.readers[0].pull()
    try scene.readers[0].close()
    bench.clone("c", as: "e")
    bench.view("one", of: "e")
    scene.readers[0] = try bench.open("c")
    try scene.readers[0].add("of-c")
    try await scene.readers[0].exchange()
    var e = try bench.open("e")
    let name = e.device
    try #require(name == scene.readers[0].device)
    let list = try #require(try e.table("t").record("r")).list("l")
    try #require(try list.values == ["x", "a0"])
    try list.replace(at: 1, with: "of-e")
    try list.append("behind")
    try e.sync()
    try e.close()
    try scene.merge(winner: "two")
    // Its head is the older one, and written again.
    try await scene.readers[0].pull()
    e = try bench.open("e")
    let exchange = try #require(e.exchanger)
    #expect(try await e.exchange().isRejoining)
    #expect(exchange.memory.withLock { $0.forked.isEmpty })
    #expect(try await bench.settle(scene.all + [e]), "\(bench.unrest)")
    try bench.expectEqual(scene.all + [e])
    #expect(e.device != name && scene.readers[0].device == name)
    #expect(try e.ids() == ["a0", "b0", "b1", "common", "of-c", "r"])
    let record = try #require(try e.table("t").record("r"))
    #expect(try record.int("n") == 130)
    let values = try record.list("l").values
    #expect(Set(values) == ["x", "a0", "b0", "b1", "behind"] && values.count == 5)
  }

  /// A switch is durable, and CHAINS is not: after a power cut it is the old one.
  @Test func `what was known of the branch that lost says nothing once the other is taken over`()
    async throws
  {
    let scene = try await ForkScene()
    let bench = scene.bench
    try await scene.work(scene.a, "a", count: 2)
    try #require(try scene.b.table("t").record("r")).set("s", "of-b")
    try await scene.work(scene.b, "b", count: 1)
    try await scene.readers[0].pull()
    try scene.merge(winner: "two")
    let chains = "/root/p-notes/" + FileName.chains
    let before = try #require(bench.disk("c").bytes(chains))
    let view = bench.disk("folder one")
    let newest = try #require(
      view.paths().filter { $0.hasSuffix(".seg") }.max {
        let (one, other) = (FileName.published(name($0)), FileName.published(name($1)))
        return one?.last ?? 0 < other?.last ?? 0
      })
    let fetched = try #require(view.bytes(newest))
    #expect(try await scene.readers[0].pull().isRejoining)
    try #require(scene.readers[0].exchanger?.isRejoining == false)
    let found = try #require(try scene.readers[0].table("t").record("r"))
    try #require(try found.list("l").values == ["x", "b0"])
    bench.clock.advance(by: 7)
    try found.set("s", "of-c")
    try found.list("l").replace(at: 1, with: "of-c")
    try scene.readers[0].sync()
    try scene.readers[0].close()
    try bench.disk("c").setBytes(chains, before)
    // It was fetched, and not taken in, when the switch came.
    try bench.disk("c").setBytes("/root/p-notes/inbox/" + name(newest), fetched)
    scene.readers[0] = try bench.open("c")
    #expect(try await !scene.readers[0].pull().isRejoining)
    #expect(try await bench.settle(scene.all), "\(bench.unrest)")
    try bench.expectEqual(scene.all)
    let record = try #require(try scene.b.table("t").record("r"))
    #expect(try record.string("s") == "of-c")
    let values = try record.list("l").values
    #expect(Set(values) == ["x", "of-c", "a0", "a1"] && values.count == 4)
  }

  private func name(_ path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? ""
  }

  // MARK: what is known of two branches

  struct Branches {
    /// How many deltas the one that is here has, and the other.
    var here: UInt64
    var there: UInt64
    /// How many of these are the same, and how many of them are known to be.
    var common: UInt64
    var agreed: UInt64
    var isForked = true
  }

  @Test(arguments: [
    Branches(here: 1010, there: 1300, common: 1000, agreed: 1000),
    Branches(here: 1300, there: 1300, common: 1000, agreed: 768),
    Branches(here: 1010, there: 20_000, common: 1000, agreed: 768, isForked: false),
    Branches(here: 300, there: 2, common: 1, agreed: 0, isForked: false),
    Branches(here: 100, there: 90, common: 90, agreed: 90, isForked: false),
    Branches(here: 5, there: 5, common: 0, agreed: 0),
  ])
  func `no more of two branches counts as the same than is known to be`(
    branches: Branches
  ) {
    let device = DeviceID(rawValue: 7)
    func known(_ count: UInt64, _ branch: UInt128, _ kept: Int) -> Histories {
      var histories = Histories()
      histories.keep(kept)
      let chains: [UInt128] = (1...count).map { number in
        UInt128(number) + (number > branches.common ? branch : 0)
      }
      histories.note(device, first: 1, chains)
      return histories
    }
    let here = known(branches.here, 1 << 100, Histories.kept)
    let there = known(branches.there, 1 << 101, Histories.keptToCompare)
    #expect(here.agreement(with: there, on: device) == branches.agreed)
    #expect(here.forked(from: there) == (branches.isForked ? [device] : []))
  }

  @Test func `however long a history is, so many of its deltas are known`() {
    let device = DeviceID(rawValue: 7)
    var histories = Histories()
    for first in 0..<1000 as Range<UInt64> {
      histories.note(device, first: first * 200 + 1, [UInt128](repeating: 5, count: 200))
    }
    #expect(histories.marks[device]?.count == 512)
    #expect(histories.marks[device]?.first?.sequence == 134_400)
    #expect(histories.chain(device, at: 199_745) == 5)
    #expect(histories.chain(device, at: 199_744) == nil)
    // What is before a file is known by it.
    histories.note(device, first: 300_001, [7], after: 6)
    #expect(histories.chain(device, at: 300_000) == 6)
    #expect(histories.chain(device, at: 299_999) == nil)
  }
}
