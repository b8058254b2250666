import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A twin that has to take over what the folder has, and no room here for that.
@Suite struct RejoinRoomTests {
  private let bench = IdentityBench(seed: 41)

  /// A device that has published 640,000 bytes since it was copied, and its twin, which has written
  /// something, too.
  private func twins() async throws -> (a: Datastore, b: Datastore) {
    bench.options.tuning.smallFileBytes = 0
    let a = try bench.open("a")
    try a.add("a0")
    try await a.exchange()
    bench.clone("a", as: "b")
    for number in 0..<8 {
      let bytes = Value.bytes(sample(UInt64(number), 80_000))
      try a.table("t").insert(["bytes": bytes], id: RecordID("r\(number)"))
      try a.sync()
      try await a.exchange()
    }
    let b = try bench.open("b")
    try b.add("mine")
    return (a, b)
  }

  /// What the twin has of the folder, beside its own files.
  private var staged: [String] { bench.disk("b").paths().filter { $0.contains("/rejoin/") } }

  private func hasAsked() -> Bool {
    bench.folder.readLog.contains { $0.verb == "read" && $0.path.hasSuffix(".seg") }
  }

  private func expectEnd(_ a: Datastore, _ b: Datastore, _ more: Set<String>) async throws {
    #expect(try await bench.settle([b, a]))
    try bench.expectEqual([a, b])
    #expect(a.device != b.device && staged == [])
    #expect(try a.ids() == more.union(["a0", "mine"] + (0..<8).map { "r\($0)" }))
    try a.close()
    try b.close()
  }

  @Test func `what has no room takes none from anybody, and is tried ever more seldom`()
    async throws
  {
    let (a, b) = try await twins()
    let disk = bench.disk("b")
    disk.capacity = disk.usedBytes + 400_000
    var (full, told, asked): ([Int], [Int], [Int]) = ([], [], [])
    for round in 1...15 {
      // Somebody has made room.
      if round == 8 { disk.capacity = nil }
      bench.folder.logReads()
      do throws(CairnError) {
        let report = try await b.exchange()
        #expect(report.isRejoining, "round \(round)")
        if !report.waiting.isEmpty { told.append(round) }
      } catch { if error.code == .diskSpace { full.append(round) } }
      if hasAsked() { asked.append(round) }
      if round == 15 { break }
      #expect(staged == [], "round \(round)")
      #expect(b.status.downloading, "round \(round)")
      if round > 1 { continue }
      // More than what was staged would have left.
      try b.table("t").insert(["bytes": .bytes(sample(9, 100_000))], id: "more")
      try b.sync()
    }
    #expect(full == [1, 3, 7] && asked == [1, 3, 7, 15])
    #expect(told == [2, 4, 5, 6] + Array(8...14))
    let result = try b.sync()
    #expect(result.newDevice == b.device)
    try await expectEnd(a, b, ["more"])
  }

  @Test func `where only the switch has no room the folder is not fetched again each time`()
    async throws
  {
    let (a, b) = try await twins()
    let disk = bench.disk("b")
    disk.intercept { operation in
      operation.verb == "create" && operation.path.contains("/rejoin/snap/") ? .noSpace : nil
    }
    var (fetched, asked): ([Int], [Int]) = ([], [])
    for round in 1...15 {
      if round == 8 { disk.heal() }
      bench.folder.logReads()
      let report = try await b.exchange()
      if report.fetchedFiles > 0 { fetched.append(round) }
      #expect(report.isRejoining && report.waiting.isEmpty == (fetched.last == round))
      if hasAsked() { asked.append(round) }
      let isFull = fetched.last == round && round < 8
      let wanted: CairnError.Code? = isFull ? .diskSpace : nil
      #expect(failure { try b.sync() }?.code == wanted, "round \(round)")
      #expect(staged == [], "round \(round)")
    }
    #expect(fetched == [1, 3, 7, 15] && asked == fetched)
    #expect(a.device != b.device)
    try await expectEnd(a, b, [])
  }
}
