import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A snapshot that was fetched, and no room for what is to become of it.
@Suite struct SnapshotRoomTests {
  private let bench = IdentityBench(seed: 31)

  /// From now on a device has room for what it fetches, and not for a snapshot of its own.
  private func fill(_ device: String) {
    bench.disk(device).intercept { operation in
      operation.verb == "rename" && operation.path.contains("/snap/") ? .noSpace : nil
    }
  }

  private func segments(_ device: Datastore) -> Set<String> {
    Set(bench.folder.paths().filter { $0.hasSuffix(".seg") && $0.contains(device.device) })
  }

  @Test func `a device without room for a join is not kept from the deltas`() async throws {
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
}
