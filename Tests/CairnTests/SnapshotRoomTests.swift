import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A snapshot, and no room for it here, or for what is to become of it.
@Suite struct SnapshotRoomTests {
  private let bench = IdentityBench(seed: 31)

  /// From now on a device has room for what it fetches, and not for a snapshot of its own.
  private func fill(_ device: String) {
    bench.disk(device).intercept { operation in
      operation.verb == "rename" && operation.path.contains("/snap/") ? .noSpace : nil
    }
  }

  private static func isPart(_ path: String) -> Bool {
    path.contains("/snap/") && path.hasSuffix(".tmp")
  }

  /// Files of a device in which a snapshot is on its way.
  private func parts(_ device: String) -> [String] {
    bench.disk(device).paths().filter(SnapshotRoomTests.isPart)
  }

  /// Two devices; to the second one a snapshot is much less than the 24 deltas that it lacks.
  private func behind() async throws -> (a: Datastore, b: Datastore) {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    let random = SeededRandom(1)
    try a.table("t").insert(["bytes": .bytes([0])], id: "big")
    try a.sync()
    #expect(try await bench.settle([a, b]))
    for _ in 0..<24 {
      try a.table("t")["big"].set("bytes", .bytes(random.bytes(80_000)))
      try a.sync()
      try await a.exchange()
    }
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    return (a, b)
  }

  private func segments(_ device: Datastore) -> Set<String> {
    Set(bench.folder.paths().filter { $0.hasSuffix(".seg") && $0.contains(device.device) })
  }

  @Test func `a device without room for a join is not kept from the deltas`() async throws {
    let (a, b) = try await behind()
    #expect(try await b.exchange().fetchedSnapshot)
    fill("b")
    #expect(failure { try b.sync() }?.code == .diskSpace)
    #expect(!b.status.incoming)
    let report = try await b.exchange()
    #expect(!report.fetchedSnapshot && report.fetchedDeltas == 24)
    #expect(report.problems.count == 1)
    #expect(report.problems.first?.name.hasSuffix(".snap") == true)
    #expect(try b.sync().incorporated == 24)
    #expect(try content(a) == content(b))
    #expect(try await b.exchange().problems.isEmpty, "nobody needs it any more")
    try a.close()
    try b.close()
  }

  @Test func `a device without room for a snapshot fetches the deltas and keeps nothing of it`()
    async throws
  {
    let (a, b) = try await behind()
    bench.disk("b").intercept { operation in
      operation.verb == "write" && SnapshotRoomTests.isPart(operation.path) ? .noSpace : nil
    }
    let report = try await b.exchange()
    #expect(!report.fetchedSnapshot && report.fetchedDeltas == 24)
    #expect(report.problems.count == 1)
    #expect(report.problems.first?.name.hasSuffix(".snap") == true)
    #expect(parts("b") == [])
    #expect(try b.sync().incorporated == 24)
    #expect(try content(a) == content(b))
    #expect(try await b.exchange().problems.isEmpty, "nobody needs it any more")
    try a.close()
    try b.close()
  }

  @Test func `a snapshot that can't be read where it was written leaves the round to the deltas`()
    async throws
  {
    let (a, b) = try await behind()
    try b.add("mine")
    let disk = bench.disk("b")
    disk.intercept { operation in
      if operation.verb == "write", SnapshotRoomTests.isPart(operation.path) {
        // It is small: what follows is the look at all of it.
        disk.failAt(read: disk.reads + 1, reason: .io(errno: 5))
      }
      return nil
    }
    let report = try await b.exchange()
    disk.intercept(nil)
    #expect(disk.strikes.map { SnapshotRoomTests.isPart($0.path) } == [true])
    #expect(!report.fetchedSnapshot && report.fetchedDeltas == 24 && report.publishedDeltas == 1)
    #expect(report.problems.count == 1)
    #expect(report.problems.first?.name.hasSuffix(".snap") == true)
    #expect(parts("b") == [])
    #expect(try b.sync().incorporated == 24)
    try await a.pull()
    #expect(try content(a) == content(b))
    try a.close()
    try b.close()
  }

  /// A device whose snapshot is all that the folder has: 640 KB.
  private func onlySnapshot() async throws -> Datastore {
    bench.options.tuning.smallFileBytes = 0
    let a = try bench.open("a")
    for number in 0..<8 {
      let bytes = Value.bytes(sample(UInt64(number), 80_000))
      try a.table("t").insert(["bytes": bytes], id: RecordID("r\(number)"))
      try a.sync()
    }
    try await a.exchange()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    for path in segments(a) { try bench.folder.remove(path) }
    return a
  }

  @Test func `a snapshot larger than the disk takes no room from anybody and is asked for seldom`()
    async throws
  {
    let a = try await onlySnapshot()
    let b = try bench.open("b")
    let disk = bench.disk("b")
    // A piece of it fits, and little more.
    disk.capacity = disk.usedBytes + BlobStore.chunkBytes + 20_000
    var (full, told, asked): ([Int], [Int], [Int]) = ([], [], [])
    for round in 1...15 {
      bench.folder.logReads()
      do throws(CairnError) {
        let problems = try await b.exchange().problems
        if problems.contains(where: { $0.name.hasSuffix(".snap") }) { told.append(round) }
      } catch { if error.code == .diskSpace { full.append(round) } }
      let isAsked = bench.folder.readLog.contains {
        $0.verb == "read" && $0.path.hasSuffix(".snap")
      }
      if isAsked { asked.append(round) }
      #expect(parts("b") == [], "round \(round)")
    }
    // There is nothing but the snapshot, so that it is what these rounds end with.
    #expect(full == [1, 3, 7, 15] && asked == full)
    #expect(told == [2, 4, 5, 6] + Array(8...14))
    // More than the piece would have left.
    try b.table("t").insert(["bytes": .bytes(sample(9, 90_000))], id: "mine")
    try b.sync()
    #expect(try b.ids() == ["mine"])
    disk.capacity = nil
    #expect(try await b.exchange().publishedDeltas == 1)
    try a.close()
    try b.close()
  }

  @Test func `a new device without room tries again by itself, ever more seldom`() async throws {
    bench.options.tuning.smallFileBytes = 0
    let a = try bench.open("a")
    try a.add("a")
    try await a.exchange()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    for path in segments(a) { try bench.folder.remove(path) }
    let b = try bench.open("b")
    fill("b")
    var fetched: [Int] = []
    for round in 1...15 {
      // Somebody has made room.
      if round == 8 { bench.disk("b").heal() }
      let report = try await b.exchange()
      if report.fetchedSnapshot { fetched.append(round) }
      let isHeld = report.problems.contains { $0.name.hasSuffix(".snap") }
      #expect(isHeld != report.fetchedSnapshot, "round \(round)")
      let isFull = report.fetchedSnapshot && round < 8
      let wanted: CairnError.Code? = isFull ? .diskSpace : nil
      #expect(failure { try b.sync() }?.code == wanted, "round \(round)")
    }
    #expect(fetched == [1, 3, 7, 15])
    #expect(try b.ids() == ["a"])
    try a.close()
    try b.close()
  }

  @Test func `where one that was consented to has no room the next one still waits`() async throws {
    bench.options.tuning.smallFileBytes = 0
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    for number in 0..<100 { try a.table("t").insert(["n": 1], id: RecordID("r\(number)")) }
    try a.sync()
    #expect(try await bench.settle([a, b]))
    let before = segments(a)
    for number in 0..<80 { try a.table("t").record(RecordID("r\(number)"))?.delete() }
    try a.sync()
    try await a.exchange()
    // Its deltas are in snapshots only.
    let lost = try #require(segments(a).subtracting(before).first)
    try a.compact()
    try bench.folder.remove(lost)
    for _ in 0..<3 { try await a.exchange() }
    #expect(try await b.exchange().fetchedSnapshot)
    #expect(try b.sync().massDelete?.records == 80)
    try a.table("t").insert(["bytes": .bytes(sample(1, 40_000))], id: "later")
    try a.sync()
    try await a.exchange()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    #expect(try await b.exchange().fetchedSnapshot)
    fill("b")
    #expect(failure { try b.sync(allowingMassDelete: true) }?.code == .diskSpace)
    #expect(try b.ids().count == 100)
    bench.disk("b").heal()
    #expect(b.status.incoming)
    try b.sync(allowingMassDelete: true)
    #expect(try b.ids().count == 21)
    try a.close()
    try b.close()
  }

  @Test(arguments: [DiskError.Reason.tooManyOpen, .io(errno: 12)])
  func `what this process lacks while a snapshot comes leaves what has come of it`(
    reason: DiskError.Reason
  ) async throws {
    let a = try await onlySnapshot()
    let b = try bench.open("b")
    let disk = bench.disk("b")
    let hasBegun = Flag()
    disk.intercept { operation in
      if operation.verb == "write", SnapshotRoomTests.isPart(operation.path), hasBegun.raise() {
        // The file is opened for each piece.
        disk.failAt(read: disk.reads + 1, reason: reason)
      }
      return nil
    }
    let code: CairnError.Code = reason == .tooManyOpen ? .system : .memory
    #expect(await b.exchangeError()?.code == code)
    disk.intercept(nil)
    #expect(disk.strikes.map { SnapshotRoomTests.isPart($0.path) } == [true])
    #expect(parts("b").count == 1)
    bench.folder.logReads()
    #expect(try await b.exchange().fetchedSnapshot)
    let reads = bench.folder.readLog.filter { $0.verb == "read" && $0.path.hasSuffix(".snap") }
    // Of three pieces two, and the end.
    #expect(reads.count == 3)
    try b.sync()
    #expect(try b.ids() == a.ids() && parts("b") == [])
    try a.close()
    try b.close()
  }
}
