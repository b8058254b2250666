import TestSupport
import Testing

@testable import Cairn
@testable import CairnS3
@testable import CairnWebDAV
@testable import TestServers

/// What an exchange does with a budget, and what it does not spend it on.
@Suite struct RemoteBudgetTests {
  @Test func `a segment for which a budget has no room keeps nothing else waiting`() async throws {
    let memory = MemoryDAV(MemoryDAV.Manners(clockTicks: true))
    let server = try TestServer { memory.answer($0) }
    let writers = try RemoteBench(.webDAV("\(server.origin)/f", .test), keeping: server)
    let (a, c) = (try writers.open("a"), try writers.open("c"))
    for number in 0..<10 {
      try a.table("t").insert(
        ["bytes": .bytes(SeededRandom(UInt64(number)).bytes(90_000))],
        id: RecordID("large-\(number)"))
    }
    try a.sync()
    try await a.exchange()
    try c.add("small")
    try await c.exchange()
    let isMetered = Shared(true)
    var settings = ServerSettings.test
    settings.meteredBudget = TransferBudget(bytesPerHour: 600_000)
    settings.isMetered = { isMetered.value }
    let reader = try RemoteBench(.webDAV("\(server.origin)/f", settings), keeping: server)
    let b = try reader.open("b")
    try b.add("own")
    let report = try await b.exchange()
    try b.sync()
    #expect(report.fetchedDeltas == 1 && report.publishedDeltas == 1, "\(report)")
    #expect(report.waiting.count { $0.reason.contains("budget") && $0.bytes > 900_000 } == 1)
    #expect(try #require(report.traffic).receivedBytes < 100_000)
    #expect(try b.ids() == ["own", "small"])
    isMetered.value = false
    #expect(try await b.pull().waiting.isEmpty)
    #expect(try b.ids().count == 12)
  }

  @Test(arguments: [true, false])
  func `a foreign file is looked at, and not read`(_ isBucket: Bool) async throws {
    let (dav, bucket) = (MemoryDAV(), MemoryS3())
    let server = try TestServer { isBucket ? bucket.answer($0) : dav.answer($0) }
    let bench = try RemoteBench(
      isBucket
        ? .s3("s3://cairn/f?endpoint=\(server.origin)", .test)
        : .webDAV("\(server.origin)/f", .test), keeping: server)
    let a = try bench.open("a")
    try a.add("one")
    try await a.exchange()
    let names = isBucket ? bucket.names : dav.names
    let head = try #require(names.first { $0.hasSuffix(".head") })
    let place = head.split(separator: "/").dropLast().joined(separator: "/")
    // Nothing says that it is none of ours but what is in it.
    let film = SeededRandom(1).bytes(1 << 20)
    let bytes = (0..<16).flatMap { _ in film }
    if isBucket { bucket.put(place + "/film", bytes) } else { dav.put(place + "/film", bytes) }
    let b = try bench.open("b")
    let report = try await b.exchange()
    #expect(report.ignoredFiles == 1 && report.problems.isEmpty && report.fetchedDeltas == 1)
    #expect(server.log.contains { $0.hasSuffix("/film") })
    #expect(try #require(report.traffic).receivedBytes < 1 << 20)
    #expect(try await b.exchange().ignoredFiles == 1)
    #expect(server.log.count { $0.hasSuffix("/film") } == 1)
  }

  @Test func `a dry run of a repair counts what it asks for, and writes nothing`() async throws {
    let memory = MemoryDAV(MemoryDAV.Manners(clockTicks: true))
    let server = try TestServer { memory.answer($0) }
    let bench = try RemoteBench(.webDAV("\(server.origin)/f", .test), keeping: server)
    let a = try bench.open("a")
    try a.add("one")
    try await a.exchange()
    let before = try #require(a.traffic)
    server.clearLog()
    let repair = try await a.repairFolder(dryRun: true)
    #expect(repair.wasWhole && repair.checkedFiles == 1)
    let traffic = try #require(repair.exchange.traffic)
    // The listing, the own head, the file.
    #expect(traffic.requests == 3 && server.log.count == 3, "\(server.log)")
    #expect(server.log.allSatisfy { $0.hasPrefix("GET") || $0.hasPrefix("PROPFIND") })
    #expect(traffic.receivedBytes >= repair.checkedBytes)
    #expect(a.traffic?.since(before) == traffic)
    #expect(repair.exchange.requests == 3)
  }
}
