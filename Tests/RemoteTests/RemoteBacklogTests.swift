import CairnDisk
import TestSupport
import Testing

@testable import Cairn
@testable import CairnWebDAV
@testable import TestServers

/// What takes more than one round to be published.
@Suite struct RemoteBacklogTests {
  /// Files of about 30 KB each, and none of them is merged.
  private var options: Options {
    var options = Options()
    options.tuning.packBytes = 30_000
    options.tuning.smallFileRun = 1000
    return options
  }

  /// 300 KB in thirty deltas.
  private func fill(_ device: Datastore, _ count: Int = 30, bytes: Int = 10_000) throws {
    let random = SeededRandom(3)
    for number in 0..<count {
      try device.table("t").insert(
        ["bytes": .bytes(random.bytes(bytes))], id: RecordID("r\(number)"))
      try device.sync()
    }
  }

  /// A place of a server that has so many bytes an hour.
  private func location(
    _ server: TestServer, bytesPerHour: UInt64, _ clock: ManualClock
  ) throws -> FolderLocation {
    let real = Machine.real
    var settings = ServerSettings.test
    settings.budget = TransferBudget(bytesPerHour: bytesPerHour)
    let kind = FolderKind.webDAV(
      settings, machine: Machine(disk: real.disk, clock: clock, random: real.random))
    return .server(try ServerFolder("webdav+\(server.origin)/f", kind: kind))
  }

  @Test(arguments: [false, true])
  func `what no hour of a budget has room for goes out a part an hour, each part once`(
    isOneFile: Bool
  ) async throws {
    let memory = MemoryDAV(MemoryDAV.Manners(clockTicks: true))
    let server = try TestServer { memory.answer($0) }
    let clock = ManualClock(1_800_000_000_000)
    let location = try location(server, bytesPerHour: isOneFile ? 130_000 : 100_000, clock)
    // With the default none of it need be more than one file.
    var whole = Options()
    whole.compactsAutomatically = false
    let limited = try RemoteBench(
      location, options: isOneFile ? whole : options, keeping: server)
    let a = try limited.open("a")
    try fill(a)
    let reader = try RemoteBench(.webDAV("\(server.origin)/f", .test), keeping: server)
    let b = try reader.open("b")
    var hours = 0
    while a.publishedDeltas < a.committedDeltas, hours < 12 {
      do throws(CairnError) { try await a.exchange() } catch {
        #expect(error.code == .quota, "\(error)")
      }
      try await b.pull()
      #expect(try UInt64(b.ids().count) == a.publishedDeltas, "others have what is told")
      clock.advance(by: 3_600_000)
      hours += 1
    }
    #expect(a.publishedDeltas == 30 && a.committedDeltas == 30)
    #expect(hours > 2)
    let sent = server.log.filter { $0.hasPrefix("PUT") && $0.hasSuffix(".seg") }
    #expect(sent.count >= (isOneFile ? 3 : 8) && sent.count == Set(sent).count, "\(sent)")
  }

  @Test(arguments: [false, true])
  func `a commit that no hour has room for goes alone, and its head with it`(
    isUnknown: Bool
  ) async throws {
    var manners = MemoryDAV.Manners(clockTicks: true)
    // It gets the head under another name first.
    if isUnknown { manners.server = "Another/1" }
    let memory = MemoryDAV(manners)
    let server = try TestServer { memory.answer($0) }
    let clock = ManualClock(1_800_000_000_000)
    let bench = try RemoteBench(
      location(server, bytesPerHour: 100_000, clock), keeping: server)
    let a = try bench.open("a")
    for id in ["large", "larger"] {
      try a.table("t").insert(["bytes": .bytes(SeededRandom(8).bytes(99_000))], id: RecordID(id))
    }
    try a.sync()
    try a.add("small")
    let reader = try RemoteBench(.webDAV("\(server.origin)/f", .test), keeping: server)
    let b = try reader.open("b")
    for _ in 0..<3 {
      let error = await #expect(throws: CairnError.self) { try await a.exchange() }
      #expect(error?.code == .quota)
      try await b.pull()
      // It has used up the hour, and others hear of it all the same.
      #expect(try b.ids() == ["large", "larger"])
    }
    #expect(a.publishedDeltas == 1)
    clock.advance(by: 3_600_000)
    #expect(try await a.exchange().publishedDeltas == 1)
    try await b.pull()
    #expect(try b.ids() == ["large", "larger", "small"])
    let sent = server.log.filter { $0.hasPrefix("PUT") && $0.hasSuffix(".seg") }
    #expect(sent.count == 2 && Set(sent).count == 2, "\(sent)")
  }

  @Test func `what a budget has no room to merge is read ever more seldom`() async throws {
    let memory = MemoryDAV(MemoryDAV.Manners(clockTicks: true))
    let server = try TestServer { memory.answer($0) }
    let bench = try RemoteBench(
      .webDAV("\(server.origin)/f", .test), options: options, keeping: server)
    let a = try bench.open("a")
    // Eight files of 75 KB, of which none is merged yet.
    try fill(a, 8, bytes: 75_000)
    try await a.exchange()
    let device = a.device
    try a.close()
    let clock = ManualClock(1_800_000_000_000)
    var merging = Options()
    merging.compactsAutomatically = false
    let again = try DatastoreManager(
      root: bench.place.path + "/a",
      account: Account(user: "ann", folder: location(server, bytesPerHour: 1_000_000, clock)),
      options: merging
    ).openOrCreateDatastore(bench.id)
    #expect(again.device == device)
    var hours: [Int] = []
    for hour in 0..<8 {
      server.clearLog()
      try again.add("hour-\(hour)")
      let report = try await again.exchange()
      #expect(report.publishedDeltas == 1 && report.mergedFiles == 0)
      let reads = server.log.count { $0.hasPrefix("GET") && $0.hasSuffix(".seg") }
      if reads > 0 {
        #expect(reads >= 8)
        hours.append(hour)
      }
      // The snapshot has no room either in hours that are spent on reading.
      let refused = report.problems.count { $0.name.hasSuffix(".seg") }
      #expect(refused == (reads > 0 ? 1 : 0), "\(report.problems)")
      clock.advance(by: 3_600_000)
    }
    #expect(hours == [0, 1, 3, 7])
  }

  @Test func `what a line that breaks has let through is not sent again`() async throws {
    let memory = MemoryDAV(MemoryDAV.Manners(clockTicks: true))
    let (arrived, left) = (Shared<[String]>([]), Shared(0))
    let server = try TestServer { asked in
      guard asked.method == "PUT", asked.path.hasSuffix(".seg") else { return memory.answer(asked) }
      guard left.value > 0 else { return .hangUp }
      left.value -= 1
      arrived.value.append(asked.path)
      return memory.answer(asked)
    }
    let bench = try RemoteBench(
      .webDAV("\(server.origin)/f", .test), options: options, keeping: server)
    let a = try bench.open("a")
    try fill(a)
    var rounds = 0
    while a.publishedDeltas < a.committedDeltas, rounds < 12 {
      left.value = 2
      do throws(CairnError) { try await a.exchange() } catch {
        #expect(!error.blamesCaller && error.code != .quota, "\(error)")
      }
      rounds += 1
    }
    #expect(a.publishedDeltas == 30 && rounds > 2)
    #expect(arrived.value.count == Set(arrived.value).count)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids().count == 30)
  }

  // MARK: snapshots

  /// A device whose snapshot has arrived, and the head that names it has not.
  private func withUnnamedSnapshot(
    _ server: TestServer, _ memory: MemoryDAV, records: Int
  ) async throws -> (bench: RemoteBench, a: Datastore) {
    var options = Options()
    options.tuning.smallFileBytes = 1
    let bench = try RemoteBench(
      .webDAV("\(server.origin)/f", .test), options: options, keeping: server)
    let a = try bench.open("a")
    for number in 0..<records {
      try a.table("t").insert(["bytes": .bytes(SeededRandom(UInt64(number)).bytes(10_000))])
    }
    try a.sync()
    try await a.exchange()
    try a.compact()
    server.handle { asked in
      asked.method == "PUT" && asked.path.hasSuffix(".head")
        ? .text(500, "not now") : memory.answer(asked)
    }
    let error = await #expect(throws: CairnError.self) { try await a.exchange() }
    #expect(error?.code == .server)
    #expect(memory.names.contains { $0.hasSuffix(".snap") })
    server.handle { memory.answer($0) }
    server.clearLog()
    return (bench, a)
  }

  private func isReadOfSnapshot(_ line: String) -> Bool {
    line.hasPrefix("GET") && line.hasSuffix(".snap")
  }

  @Test func `a snapshot that was sent is not read back`() async throws {
    let memory = MemoryDAV(MemoryDAV.Manners(clockTicks: true))
    let server = try TestServer { memory.answer($0) }
    let (bench, a) = try await withUnnamedSnapshot(server, memory, records: 3)
    #expect(try await a.exchange().publishedSnapshot)
    #expect(server.log.count(where: isReadOfSnapshot) == 0)
    #expect(server.log.count { $0.hasPrefix("PUT") && $0.hasSuffix(".snap") } == 0)
    let b = try bench.open("b")
    #expect(try await b.pull().fetchedSnapshot)
    #expect(try b.ids().count == 3)
  }

  @Test func `a snapshot that no hour of a budget can read is asked for once`() async throws {
    let memory = MemoryDAV(MemoryDAV.Manners(clockTicks: true))
    let server = try TestServer { memory.answer($0) }
    let (bench, a) = try await withUnnamedSnapshot(server, memory, records: 20)
    try a.close()
    let clock = ManualClock(1_800_000_000_000)
    let again = try DatastoreManager(
      root: bench.place.path + "/a",
      account: Account(user: "ann", folder: location(server, bytesPerHour: 100_000, clock)),
      options: bench.options
    ).openOrCreateDatastore(bench.id)
    for hour in 0..<3 {
      try again.add("hour-\(hour)")
      let report = try await again.exchange()
      #expect(report.publishedDeltas == 1 && !report.publishedSnapshot)
      #expect(report.problems.count == (hour == 0 ? 1 : 0), "\(report.problems)")
      // What a budget has is given out in parts.
      #expect(server.log.contains(where: isReadOfSnapshot) == (hour == 0))
      server.clearLog()
      clock.advance(by: 3_600_000)
    }
  }
}
