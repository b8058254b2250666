import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Clocks that are wrong by decades, and clocks that jump: they decide ties, how long things are
/// kept, and nothing else.
@Suite struct ClockTests {
  private static let now: Int64 = 1_700_000_000_000
  private static let year: Int64 = 365 * 86_400_000

  /// Devices with a disk and a clock of their own around one folder.
  private final class Bench {
    let folder = MemoryDisk()
    private(set) var clocks: [String: ManualClock] = [:]
    private var disks: [String: MemoryDisk] = [:]
    var options = Options()

    init() {
      options.compactsAutomatically = false
      options.durability = .none
    }

    func open(_ name: String, time: Int64 = ClockTests.now) throws -> Datastore {
      let clock = clocks[name] ?? ManualClock(time)
      let disk = disks[name] ?? MemoryDisk(clock: clock)
      (clocks[name], disks[name]) = (clock, disk)
      let seed = UInt64(name.utf8.reduce(7) { $0 &* 31 &+ Int($1) })
      let place = Machine(disk: folder, clock: ManualClock(), random: SeededRandom(seed &+ 1))
      return try DatastoreManager(
        root: "/root", account: Account(user: "ann", folder: .directory("/folder")),
        folder: { DirectoryFolder("/folder", machine: place) }, options: options,
        machine: Machine(disk: disk, clock: clock, random: SeededRandom(seed))
      ).openOrCreateDatastore("notes")
    }

    func settle(_ devices: [Datastore]) async throws {
      for _ in 0..<4 { for device in devices { try await device.pull() } }
    }
  }

  @Test func `devices decades apart end equal, and the last to have seen a value sets it`()
    async throws
  {
    let bench = Bench()
    let devices = try [50, -50, 0].map { years in
      try bench.open("d\(years)", time: Self.now + Int64(years) * Self.year)
    }
    let (future, past, present) = (devices[0], devices[1], devices[2])
    try future.table("t").setRule(.sum, field: "sum")
    try future.table("t").insert(["f": "future", "sum": 1], id: "r")
    try future.sync()
    try await future.exchange()
    // Whoever has seen a value replaces it, however early its clock says that this is.
    for (device, text) in [(past, "past"), (present, "present"), (past, "past again")] {
      try await bench.settle(devices)
      try device.table("t")["r"].set("f", .string(text))
      try device.sync()
      try await device.exchange()
      try await bench.settle(devices)
      for device in devices { #expect(try device.table("t")["r"].string("f") == text) }
    }
    // And what nobody has seen of one another merges by the rules.
    for (index, device) in devices.enumerated() {
      let record = try device.table("t")["r"]
      try record.set("sum", .int((try record.int("sum") ?? 0) + Int64(10 << index)))
      try record.set("f", .string("at once \(index)"))
      try device.table("t").insert(["n": .int(Int64(index))], id: RecordID("own\(index)"))
      try device.sync()
    }
    try await bench.settle(devices)
    for device in devices {
      #expect(try content(device) == content(present))
      #expect(try device.table("t")["r"].int("sum") == 71)
      #expect(try device.ids() == ["r", "own0", "own1", "own2"])
    }
  }

  @Test func `a clock that jumps about while a device works costs nothing`() async throws {
    let bench = Bench()
    var a = try bench.open("a")
    let b = try bench.open("b")
    let clock = try #require(bench.clocks["a"])
    var count = 0
    var last: Int64 = .min
    // 1970, before it, 2262, the end of the calendar, and hours to and fro.
    let times = [
      0, -Self.year, 9_223_372_036_854, 253_402_300_799_000, Self.now, Self.now - 3_600_000, 1,
    ]
    for time in times {
      clock.set(time)
      try a.table("t").insert(["n": .int(Int64(count))], id: RecordID("r\(count)"))
      try a.sync()
      count += 1
      let modified = try #require(a.mtime?.millisecondsSince1970)
      #expect(modified > last, "times of commits never go back")
      last = modified
      #expect(try await a.pull().complaints == [])
      #expect(try await b.pull().complaints == [])
      #expect(try b.ids().count == count)
      if count % 3 == 0 { try a.compact() }
      try a.close()
      a = try bench.open("a")
      #expect(a.recoveryNotes == [])
      #expect(try a.ids().count == count)
    }
    try a.table("t")["r0"].set("n", -1)
    try a.sync()
    try await bench.settle([a, b])
    #expect(try content(a) == content(b) && b.table("t")["r0"].int("n") == -1)
  }

  /// Merged files have a grace by the own clock. If that jumps ahead it ends early: a reader that
  /// had wanted them finds the larger file in its next round.
  @Test func `a clock that jumps ahead ends a grace early, and nobody misses anything`()
    async throws
  {
    let bench = Bench()
    bench.options.graceSeconds = 3600
    let a = try bench.open("a")
    let b = try bench.open("b")
    for index in 0..<5 {
      try a.add("a\(index)")
      try await a.exchange()
    }
    // It knows of the files, and has them in its inbox.
    try await b.exchange()
    for index in 5..<12 {
      try a.add("a\(index)")
      try await a.exchange()
    }
    let files = bench.folder.paths().filter { $0.hasSuffix(".seg") }.count
    bench.clocks["a"]?.advance(by: 10 * Self.year)
    for _ in 0..<2 { try await a.exchange() }
    #expect(bench.folder.paths().filter { $0.hasSuffix(".seg") }.count < files)
    for _ in 0..<2 { #expect(try await b.pull().problems == []) }
    let late = try bench.open("late")
    #expect(try await late.pull().complaints == [])
    for device in [b, late] { #expect(try content(device) == content(a)) }
  }

  /// A process may be one round.
  @Test func `the grace of a merged file goes on in the next process`() async throws {
    let bench = Bench()
    bench.options.graceSeconds = 3600
    var a = try bench.open("a")
    func files() -> Int { bench.folder.paths().filter { $0.hasSuffix(".seg") }.count }
    func reopen(_ minutes: Int64) async throws {
      try a.close()
      bench.clocks["a"]?.advance(by: minutes * 60_000)
      a = try bench.open("a")
      try await a.exchange()
    }
    for index in 0..<12 {
      try a.add("a\(index)")
      try await a.exchange()
    }
    let own = try #require(try await a.devices().first { $0.isThisDevice })
    let before = files()
    #expect(before > own.files)
    for minutes: Int64 in [20, 30] {
      try await reopen(minutes)
      #expect(files() == before)
    }
    // A clock that was put back says nothing of how long it was: it counts from there.
    try await reopen(-600)
    try await reopen(50)
    #expect(files() == before)
    try await reopen(15)
    #expect(files() == own.files)
    let late = try bench.open("late")
    #expect(try await late.pull().complaints == [])
    #expect(try content(late) == content(a))
  }

  @Test func `a snapshot that was replaced while the clock was ahead goes after its grace`()
    async throws
  {
    let bench = Bench()
    bench.options.graceSeconds = 3600
    // Due whenever as much has come as the last one has.
    bench.options.tuning.smallFileBytes = 0
    let a = try bench.open("a")
    let clock = try #require(bench.clocks["a"])
    func snapshots() -> [String] { bench.folder.paths().filter { $0.hasSuffix(".snap") } }
    try a.add("a")
    try a.sync()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let first = try #require(snapshots().first)
    clock.advance(by: 10 * Self.year)
    try a.table("t").insert(["bytes": .bytes(sample(1, 100_000))], id: "bulk")
    try a.sync()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    #expect(snapshots().count == 2)
    // It counts from the first round after the clock was put right.
    clock.advance(by: -10 * Self.year)
    try await a.exchange()
    clock.advance(by: 3_599_999)
    try await a.exchange()
    #expect(snapshots().count == 2)
    clock.advance(by: 1)
    try await a.exchange()
    #expect(snapshots().count == 1 && !snapshots().contains(first))
    try await a.exchange()
    #expect(try await a.exchange().isIdle)
  }

  /// Days are those of the own clock, counted when the next file of the trash is written.
  @Test func `what is in the trash goes after its days by the own clock`() async throws {
    let bench = Bench()
    bench.options.trashDays = 30
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    for index in 0..<3 { try a.add("r\(index)") }
    try await bench.settle([a, b])
    var left: [[String]] = []
    for (index, days) in [0, 29, 2].enumerated() {
      bench.clocks["b"]?.advance(by: Int64(days) * 86_400_000)
      try a.table("t").record(RecordID("r\(index)"))?.delete()
      try a.sync()
      try await bench.settle([a, b])
      left.append(try b.trash.list().map(\.id.description))
    }
    #expect(left == [["r0"], ["r0", "r1"], ["r1", "r2"]])
  }

  /// The clock of the device that keeps it was ahead when it was deleted for the first time.
  @Test(arguments: [86_400_000, 10 * 365 * 86_400_000] as [Int64])
  func `of what was deleted twice the trash has what was there last`(ahead: Int64) async throws {
    let bench = Bench()
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    let clock = try #require(bench.clocks["b"])
    try a.table("t").insert(["text": "OLD"], id: "r")
    try a.sync()
    try await bench.settle([a, b])
    for (time, text) in [(ahead, "OLD"), (-ahead, "NEW")] {
      clock.advance(by: time)
      try a.table("t").record("r")?.delete()
      try a.sync()
      try await bench.settle([a, b])
      let found = try b.trash.list()
      #expect(found.count == 1 && found.first?.fields["text"] == .string(text))
      #expect(try b.trash.restoreAll() == 1)
      #expect(try b.table("t")["r"].string("text") == text)
      try b.table("t")["r"].set("text", "NEW")
      try b.sync()
      try await bench.settle([b, a])
    }
  }

  @Test func `what was deleted up to a time goes from the trash, and nothing that went later`()
    async throws
  {
    let bench = Bench()
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    for index in 0..<3 { try a.add("r\(index)") }
    try await bench.settle([a, b])
    for index in 0..<3 {
      bench.clocks["b"]?.advance(by: 86_400_000)
      try a.table("t").record(RecordID("r\(index)"))?.delete()
      try a.sync()
      try await bench.settle([a, b])
    }
    func left() throws -> [String] { try b.trash.list().map(\.id.description) }
    let found = try b.trash.list()
    try #require(found.map(\.id.description) == ["r0", "r1", "r2"])
    let before = Timestamp(millisecondsSince1970: found[0].deleted.millisecondsSince1970 - 1)
    try b.trash.empty(through: before)
    #expect(try left() == ["r0", "r1", "r2"])
    try b.trash.empty(through: found[1].deleted)
    #expect(try left() == ["r2"])
    #expect(try b.trash.restoreAll() == 1)
  }

  @Test func `what goes in the same moment is kept side by side`() async throws {
    let bench = Bench()
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    for index in 0..<3 { try a.add("r\(index)") }
    try await bench.settle([a, b])
    for index in 0..<2 {
      try a.table("t").record(RecordID("r\(index)"))?.delete()
      try a.sync()
      try await bench.settle([a, b])
    }
    let found = try b.trash.list()
    #expect(found.map(\.id.description) == ["r0", "r1"])
    #expect(Set(found.map(\.deleted)).count == 1, "the clock stands still")
    #expect(try b.trash.restoreAll() == 2)
  }
}
