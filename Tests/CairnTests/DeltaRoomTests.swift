import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Deltas in the folder, and no room for all of them here.
@Suite struct DeltaRoomTests {
  private let bench = IdentityBench(seed: 89)

  /// Two devices; the second one lacks six deltas of 80 kB each.
  private func behind() async throws -> (a: Datastore, b: Datastore) {
    bench.options.tuning.smallFileBytes = 0
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.add("begin")
    #expect(try await bench.settle([a, b]))
    for number in 0..<6 {
      let bytes = Value.bytes(sample(UInt64(number), 80_000))
      try a.table("t").insert(["bytes": bytes], id: RecordID("r\(number)"))
      try a.sync()
      try await a.exchange()
    }
    return (a, b)
  }

  /// Files of others that a device has fetched and not taken in.
  private func fetched(_ device: String) -> Int {
    bench.disk(device).paths().count { $0.contains("/inbox/") && $0.hasSuffix(".seg") }
  }

  @Test func `deltas for which there is no room keep nothing own from going out`() async throws {
    let (a, begun) = try await behind()
    var b = begun
    try b.add("mine")
    let disk = bench.disk("b")
    disk.capacity = disk.usedBytes + 3 * 80_000 + 40_000
    #expect(await b.exchangeError()?.code == .diskSpace)
    // The last one that came has given its room back.
    #expect(fetched("b") == 2)
    #expect(b.status.downloadError?.code == .diskSpace && b.status.uploadError == nil)
    #expect(b.publishedDeltas == b.committedDeltas)
    try await a.pull()
    #expect(try a.ids().contains("mine"))
    var (full, told): ([Int], [Int]) = ([], [])
    for round in 2...8 {
      do throws(CairnError) {
        if try await !b.exchange().waiting.isEmpty { told.append(round) }
      } catch { if error.code == .diskSpace { full.append(round) } }
      #expect(fetched("b") == 2, "round \(round)")
    }
    #expect(full == [2, 4, 8] && told == [3, 5, 6, 7])
    disk.capacity = nil
    #expect(try b.sync().incorporated == 2)
    try b.close()
    b = try bench.open("b")
    #expect(try await b.exchange().fetchedDeltas == 4)
    try b.sync()
    #expect(try content(a) == content(b))
    try a.close()
    try b.close()
  }

  @Test func `files that wait are not given up one by one for one before them that does not fit`()
    async throws
  {
    bench.options.tuning.smallFileBytes = 0
    // In the order in which they are fetched.
    let others = [try bench.open("a"), try bench.open("c")].sorted { $0.device < $1.device }
    let (first, second) = (others[0], others[1])
    for number in 0..<4 {
      let bytes = Value.bytes(sample(UInt64(number), 20_000))
      try second.table("t").insert(["bytes": bytes], id: RecordID("r\(number)"))
      try second.sync()
      try await second.exchange()
    }
    var b = try bench.open("b")
    #expect(try await b.exchange().fetchedDeltas == 4)
    #expect(fetched("b") == 4)
    try first.table("t").insert(["bytes": .bytes(sample(4, 80_000))], id: "large")
    try first.sync()
    try await first.exchange()
    let disk = bench.disk("b")
    // Not enough for it with one of the others gone either.
    disk.capacity = disk.usedBytes + 40_000
    var full: [Int] = []
    for round in 1...8 {
      if await b.exchangeError()?.code == .diskSpace { full.append(round) }
      #expect(fetched("b") == 3, "round \(round)")
    }
    #expect(full == [1, 2, 4, 8])
    disk.capacity = nil
    #expect(try b.sync().incorporated == 3)
    try b.close()
    b = try bench.open("b")
    #expect(try await b.exchange().fetchedDeltas == 2)
    try b.sync()
    #expect(try b.ids() == ["r0", "r1", "r2", "r3", "large"])
    for device in others { try device.close() }
    try b.close()
  }

  /// EFBIG, as the file system or `ulimit -f` says it.
  @Test func `deltas that are too large for any file here are fetched ever more seldom`()
    async throws
  {
    let (a, begun) = try await behind()
    var b = begun
    try b.add("mine")
    let disk = bench.disk("b")
    disk.intercept { $0.verb == "write" && $0.path.contains("/inbox/") ? .io(errno: 27) : nil }
    var (full, told): ([Int], [Int]) = ([], [])
    for round in 1...8 {
      do throws(CairnError) {
        if try await !b.exchange().waiting.isEmpty { told.append(round) }
      } catch { if error.code == .diskSpace { full.append(round) } }
    }
    #expect(full == [1, 2, 4, 8] && told == [3, 5, 6, 7])
    #expect(disk.strikeCount == 4)
    #expect(b.publishedDeltas == b.committedDeltas)
    disk.intercept(nil)
    try b.close()
    b = try bench.open("b")
    #expect(try await b.exchange().fetchedDeltas == 6)
    try b.sync()
    try await a.pull()
    #expect(try content(a) == content(b))
    try a.close()
    try b.close()
  }

  @Test func `deltas that have taken the last room come in one after the other`() async throws {
    let (a, b) = try await behind()
    #expect(try await b.exchange().fetchedDeltas == 6)
    let disk = bench.disk("b")
    // For one of them, and for little more.
    disk.capacity = disk.usedBytes + 100_000
    #expect(try b.sync().incorporated == 6)
    #expect(fetched("b") == 0)
    #expect(try content(a) == content(b))
    try a.close()
    try b.close()
  }
}
