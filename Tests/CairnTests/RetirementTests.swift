import CairnBytes
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Devices around one folder that cut, forget and retire.
struct RetirementTests {
  let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  @Test func `a retired device is told apart, and nobody waits for it`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let lost = try await bench.publisher("c")
    try await bench.meet(a, b, lost)
    try lost.close()
    try a.retireDevice(lost.device)
    #expect(a.status.outgoing)
    try await bench.meet(a, b)
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    #expect(b.store.cuts == a.store.cuts)
    let devices = try await b.devices()
    #expect(devices.filter(\.isRetired).map(\.id) == [lost.device])
    #expect(try b.ids() == ["a", "b", "c"])
  }

  @Test func `what a retired device brings back is held and resurrects nothing`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let away = try await bench.publisher("c")
    try await bench.meet(a, b, away)
    try away.table("t").record("a")?.set("text", "edited")
    try away.sync()
    try a.table("t").record("a")?.delete()
    try a.retireDevice(away.device)
    try await bench.meet(a, b)
    try await away.exchange()
    try await a.pull()
    let report = try await a.pull()
    #expect(report.held.count == 1)
    #expect(report.waiting.isEmpty)
    #expect(report.isIdle)
    #expect(try a.ids() == ["b", "c"])
  }

  @Test func `a retired device returns with its edits under a new name, once each`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let away = try await bench.publisher("c")
    try a.table("t").setRule(.sum, field: "n")
    try await bench.meet(a, b, away)
    try a.table("t").record("b")?.set("n", 10)
    try await bench.meet(a, b, away)
    let old = away.device
    try away.table("t").record("a")?.set("text", "edited")
    try away.table("t").record("b")?.set("n", 15)
    try away.add("mine")
    try await away.exchange()
    try away.table("t").record("b")?.set("n", 16)
    try a.table("t").record("a")?.delete()
    try a.table("t").record("b")?.set("n", 12)
    try a.retireDevice(old)
    try await bench.meet(a, b)
    try await bench.meet(away, a, b)
    #expect(away.device != old)
    for device in [a, b, away] {
      #expect(try device.ids() == ["b", "c", "mine"])
      #expect(try device.table("t").record("b")?.int("n") == 18)
    }
    #expect(a.store.vector == away.store.vector)
    #expect(b.store.vector == away.store.vector)
    #expect(try await a.devices().filter(\.isRetired).map(\.id) == [old])
    let report = try await away.exchange()
    #expect(report.problems.isEmpty)
    #expect(report.waiting.isEmpty)
    #expect(!report.isRejoining)
  }

  @Test func `what a retired device had not seen goes by the rule, and what loses is told`()
    async throws
  {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let away = try await bench.publisher("c")
    try a.table("t").setRule(.max, field: "n")
    try await bench.meet(a, b, away)
    let old = away.device
    try away.table("t")["a"].update(["n": 5, "text": "mine"])
    try away.table("t")["b"].update(["n": 9])
    try away.sync()
    try a.table("t")["a"].update(["n": 7, "text": "theirs"])
    try a.table("t")["b"].update(["n": 7])
    try a.retireDevice(old)
    try await bench.meet(a, b)
    var conflicts: [SyncResult.Conflict] = []
    for _ in 0..<8 where away.device == old {
      try await away.exchange()
      conflicts += try away.sync().conflicts
      try await bench.meet(a, b)
    }
    #expect(away.device != old)
    #expect(conflicts.map { "\($0.id).\($0.field)" } == ["a.n", "a.text", "b.n"])
    #expect(conflicts.map(\.visible) == [7, "mine", 9])
    let losers = conflicts.flatMap(\.losers)
    #expect(losers.map(\.value) == [5, "theirs", 7])
    #expect(losers.map(\.device) == [away.device, a.device, a.device])
    try await bench.meet(away, a, b)
    for device in [a, b, away] {
      #expect(try device.table("t").record("a")?.int("n") == 7)
      #expect(try device.table("t").record("a")?.string("text") == "mine")
      #expect(try device.table("t").record("b")?.int("n") == 9)
      #expect(device.store.vector == away.store.vector)
    }
  }

  @Test func `a device that leaves its name tells of the app's records only`() async throws {
    let (a, away) = (try await bench.publisher("a"), try await bench.publisher("c"))
    try await bench.meet(a, away)
    let old = away.device
    try away.add("mine")
    try await away.exchange()
    try a.add("more")
    try a.retireDevice(old)
    try await bench.meet(a)
    var changes = away.changes.makeAsyncIterator()
    var changed: [String: Set<RecordID>] = [:]
    for _ in 0..<8 where away.device == old {
      try await away.exchange()
      changed.merge(try away.sync().changedRecords) { $0.union($1) }
      try await bench.meet(a)
    }
    #expect(away.device != old)
    #expect(changed == ["t": ["more"]])
    let change = try #require(await changes.next())
    #expect(change.affects("t") && !change.affects(":cuts"))
  }

  /// As it is put together anew its own files come first, and the cut that keeps out what is in
  /// them comes parts later.
  @Test func `a device returns past more than one part of a sync has`() async throws {
    bench.options.durability = .none
    // A snapshot would do instead of all that.
    bench.options.compactsAutomatically = false
    let (a, c) = (try await bench.publisher("a"), try await bench.publisher("c"))
    try await bench.meet(a, c)
    let (gone, other) = a.device < c.device ? (a, c) : (c, a)
    let (old, name) = (gone.device, gone === a ? "a" : "c")
    try gone.close()
    var bytes = SeededRandom(3).bytes(90_000)
    try #require(200 * bytes.count > Exchange.batchBytes)
    for index in 0..<200 {
      bytes[index] ^= 0xFF
      try other.table("t").record("a")?.set("raw", .bytes(bytes))
      try other.sync()
    }
    try await other.exchange()
    try other.retireDevice(old)
    try await bench.meet(other)
    #expect(other.store.cuts.cuts.map(\.isSealed) == [true])
    let away = try bench.open(name)
    try away.add("mine")
    for _ in 0..<2 { try await bench.meet(away, other) }
    #expect(away.device != old)
    for device in [away, other] { #expect(try device.ids() == ["a", "c", "mine"]) }
    #expect(try content(away) == content(other))
    #expect(away.store.vector == other.store.vector)
  }

  @Test func `nobody waits for what a device has left behind with its name`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let away = try await bench.publisher("c")
    try await bench.meet(a, b, away)
    let old = away.device
    try a.retireDevice(old)
    try await bench.meet(a, b)
    try away.add("mine")
    try await away.exchange()
    let file = try #require(try bench.segments(away).max())
    try await bench.meet(away, a, b)
    #expect(away.device != old)
    // Its owner is somebody else by now, and does not write it again.
    let bytes = try bench.read(bench.shared + "/" + file)
    try bench.write(bench.shared + "/" + file, [UInt8](bytes.prefix(bytes.count / 2)))
    let late = try bench.open("late")
    try await bench.meet(late, a, b)
    let report = try await late.exchange()
    #expect(report.waiting == [] && report.isIdle)
    #expect(!late.status.downloading)
    #expect(try late.ids() == ["a", "b", "c", "mine"])
    #expect(late.store.vector == a.store.vector)
    // Nor for its head, if all is here that counts of it.
    let head = bench.shared + "/" + old + ".head"
    try bench.write(head, [UInt8](try bench.read(head).prefix(9)))
    let last = try await late.exchange()
    #expect(last.waiting == [] && last.isIdle)
  }

  @Test func `a device leaves its name once its head there is whole`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    var away = try await bench.publisher("c")
    try await bench.meet(a, b, away)
    let (old, head) = (away.device, bench.shared + "/" + bench.head(away))
    try away.add("mine")
    try away.close()
    try a.retireDevice(old)
    try await bench.meet(a, b)
    // Half of it is there, and for some rounds it can't be written again.
    try bench.write(head, [UInt8](try bench.read(head).prefix(9)))
    let script = ScriptedFolder.Script()
    script.write { path, _ in path.hasSuffix(old + ".head") ? .part(9) : .whole }
    away = try bench.open("c", script)
    for _ in 0..<4 {
      #expect(await away.exchangeError()?.code == .response)
      try away.sync()
    }
    #expect(away.device == old)
    script.write(nil)
    try await bench.meet(away, a, b)
    #expect(away.device != old)
    #expect(try Head(try bench.read(head), name: head, datastore: nil).device.description == old)
    // Who comes later finds what was written under the old name.
    let late = try bench.open("late")
    try await bench.meet(late, a, b, away)
    #expect(try late.ids() == ["a", "b", "c", "mine"])
    #expect(late.store.vector == away.store.vector)
  }

  @Test func `who joined without seeing a sealed cut takes it over with its edits`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    try await bench.meet(a, b)
    try a.askToForget()
    try await bench.meet(a, b)
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    // It writes before it has heard of anything.
    let stray = try bench.open("stray")
    try stray.add("stray")
    try await stray.exchange()
    #expect(try await a.pull().held.isEmpty)
    #expect(try await a.pull().held.count == 1)
    try await bench.meet(stray, a, b)
    for device in [a, b, stray] { #expect(try device.ids().contains("stray")) }
    #expect(try a.ids() == stray.ids())
    #expect(a.store.vector == stray.store.vector)
  }

  @Test func `a device that gives way waits for what others have agreed on since`() async throws {
    let a = try await bench.publisher("a")
    try a.askToForget()
    try await bench.meet(a)
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    // It writes before it has heard of anything.
    let stray = try bench.open("stray")
    try stray.add("stray")
    let old = stray.device
    let b = try bench.open("b")
    try await bench.meet(b, a)
    try b.add("b")
    try await bench.meet(b, a)
    try a.askToForget()
    try a.sync()
    try await a.exchange()
    #expect(a.store.cuts.cuts.last?.members.count == 2)
    // What the second agreement builds on is not to be had just now.
    let head = bench.shared + "/" + bench.head(b)
    let whole = try bench.read(head)
    try bench.write(head, [UInt8](whole.prefix(9)))
    var report = try await stray.pull()
    for _ in 0..<3 { report = try await stray.pull() }
    #expect(report.isRejoining && stray.device == old)
    #expect(report.waiting.contains { $0.name == bench.head(a) })
    #expect(try stray.ids().contains("stray"))
    try bench.write(head, whole)
    for _ in 0..<2 { try await bench.meet(stray, a, b) }
    #expect(stray.device != old)
    // Once: what it wrote anew was beside nothing.
    #expect(try await a.devices().filter(\.isRetired).map(\.id) == [old])
    for device in [a, b, stray] {
      #expect(try device.ids() == ["a", "b", "stray"])
      #expect(device.store.vector == a.store.vector)
    }
  }

  @Test func `a cut that holds the record of a member's leaving is repeated all the same`()
    async throws
  {
    let a = try await bench.publisher("a")
    let (c, away) = (try bench.open("c"), try bench.open("away"))
    try await bench.meet(c, a)
    try away.add("away")
    try await away.exchange()
    // Its author has not heard of `away`; the other member has, in time.
    try c.add("c")
    try c.askToForget()
    try c.sync()
    try await c.exchange()
    try await a.pull()
    try await a.exchange()
    try await c.pull()
    try c.sync()
    #expect(c.store.cuts.cuts.map(\.isSealed) == [true])
    try await c.exchange()
    let old = away.device
    try away.add("more")
    for _ in 0..<2 { try await away.pull() }
    #expect(away.device != old)
    // Before it can say that it has left its name, that is a member once more.
    try c.askToForget()
    try c.sync()
    #expect(c.store.cuts.cuts.last?.members.map(\.description).contains(old) == true)
    try await c.exchange()
    try await a.pull()
    try await a.exchange()
    for _ in 0..<3 { try await bench.meet(away, a, c) }
    #expect(c.store.cuts.cuts.map(\.isSealed) == [true])
    for device in [a, c, away] {
      #expect(try device.ids() == ["a", "c", "away", "more"])
      #expect(device.store.vector == a.store.vector)
    }
    let report = try await away.exchange()
    #expect(report.held == [] && report.isIdle && !report.isRejoining)
  }

  @Test func `a new device starts from a snapshot that was pruned`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let random = SeededRandom(5)
    for number in 0..<100 {
      try a.table("t").insert(["raw": .bytes(random.bytes(4096))], id: RecordID("n\(number)"))
      try a.sync()
    }
    try a.table("t").record("b")?.delete()
    try await bench.meet(a, b)
    for number in 0..<200 { try a.add("m\(number)") }
    try a.askToForget()
    try await bench.meet(a, b)
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    _ = try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let new = try bench.open("new")
    #expect(try await new.pull().fetchedSnapshot)
    #expect(try new.ids() == a.ids())
    #expect(new.store.cuts == a.store.cuts)
    try new.add("mine")
    try await bench.meet(new, a, b)
    #expect(try b.ids() == new.ids())
    #expect(try b.ids().contains("mine"))
  }

  @Test func `who never published comes in with what it wrote`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let offline = try bench.open("offline")
    for number in 0..<5 { try offline.add("offline\(number)") }
    try await bench.meet(a, b)
    try a.askToForget()
    try await bench.meet(a, b)
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    try await bench.meet(offline, a, b)
    for device in [a, b, offline] {
      #expect(try device.ids().isSuperset(of: (0..<5).map { "offline\($0)" }))
      #expect(device.store.vector == a.store.vector)
    }
  }

  @Test func `files that have cuts say that older versions can't read them`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    try await bench.meet(a, b)
    let before = try bench.segments(a)
    #expect(!before.isEmpty)
    for name in before {
      #expect(try bench.read(bench.shared + "/" + name).u16(at: 10) == FormatVersion.floor)
    }
    try a.askToForget()
    try await bench.meet(a, b)
    let cuts = try bench.segments(a).filter { !before.contains($0) }
    #expect(!cuts.isEmpty)
    for name in cuts {
      let floor = try bench.read(bench.shared + "/" + name).u16(at: 10)
      #expect(floor == FormatVersion.cuts)
      // What a version says that knows no cuts.
      #expect(throws: LogError.self) { try FormatVersion.check(floor: floor, path: name) }
    }
    for device in ["a", "b"] {
      let log = bench.root(device) + "/p-notes/log"
      let floors = try bench.names(log).sorted().map { try bench.read(log + "/" + $0).u16(at: 10) }
      #expect(floors.first == FormatVersion.floor && floors.last == FormatVersion.cuts, "\(floors)")
    }
    _ = try a.compact()
    let path = try #require(a.store.snapshotFile()?.path)
    #expect(try bench.read(path).u16(at: 10) == FormatVersion.cuts)
  }

  @Test func `only other devices of an account can be retired`() async throws {
    let a = try await bench.publisher("a")
    for id in ["", "x", a.device, "0000000000000000"] {
      #expect(code { try a.retireDevice(id) } == .illegalArgument)
    }
    #expect(code { try a.retireDevice("0123456789abcdef") } == .notFound)
    let local = try DatastoreManager(root: bench.root("local")).openOrCreateDatastore("d")
    #expect(code { try local.retireDevice(a.device) } == .invalidOperation)
    #expect(code { try local.askToForget() } == .invalidOperation)
  }
}
