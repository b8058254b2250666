import CairnDisk
import CairnLog
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Cairn
@testable import CairnS3
@testable import CairnWebDAV
@testable import TestServers

/// Devices that meet on a server.
@Suite struct RemoteExchangeTests {
  /// A server in this process, and how it is reached.
  struct Kind: Sendable, CustomTestStringConvertible {
    let name: String
    let make: @Sendable () throws -> (TestServer, FolderLocation, settle: @Sendable () -> Void)
    var testDescription: String { name }

    static let all: [Kind] = [
      dav("WebDAV", MemoryDAV.Manners(clockTicks: true)),
      dav(
        "WebDAV, weak tags",
        MemoryDAV.Manners(
          tags: .weak, tagInAnswer: false, server: "Apache/2.4", clockTicks: true)),
      dav(
        "WebDAV, no tags",
        MemoryDAV.Manners(tags: .none, tagInAnswer: false, server: "nginx", clockTicks: true)),
      dav(
        "WebDAV, unknown",
        MemoryDAV.Manners(tags: .secondAndSize, server: "Another/1", clockTicks: true)),
      Kind(name: "S3") {
        let memory = MemoryS3(MemoryS3.Manners(pageSize: 50))
        let server = try TestServer { memory.answer($0) }
        return (server, .s3("s3://cairn/f?endpoint=\(server.origin)", .test), {})
      },
      Kind(name: "S3, tags that say nothing") {
        let memory = MemoryS3(MemoryS3.Manners(tagsAreHashes: false))
        let server = try TestServer { memory.answer($0) }
        return (server, .s3("s3://cairn/f?endpoint=\(server.origin)", .test), {})
      },
    ]

    private static func dav(_ name: String, _ manners: MemoryDAV.Manners) -> Kind {
      Kind(name: name) {
        let memory = MemoryDAV(manners)
        let server = try TestServer { memory.answer($0) }
        return (server, .webDAV("\(server.origin)/f", .test), { memory.pass(seconds: 60) })
      }
    }
  }

  // MARK: costs

  @Test(arguments: Kind.all)
  func `a quiet folder costs a request, and a commit three`(_ kind: Kind) async throws {
    let (server, location, settle) = try kind.make()
    let bench = try RemoteBench(location, keeping: server)
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    for number in 0..<3 {
      try a.add("a\(number)")
      try await a.exchange()
      try await b.pull()
    }
    for _ in 0..<3 {
      settle()
      try await a.pull()
      try await b.pull()
    }
    let (idle, log) = try await server.requests { try await a.exchange() }
    #expect(idle.isIdle)
    #expect(log.count == 1)
    #expect(idle.traffic?.requests == 1)
    try a.add("one-more")
    let (commit, commitLog) = try await server.requests { try await a.exchange() }
    #expect(commit.publishedDeltas == 1)
    // One more to replace a head on a server of which nothing is known.
    #expect(commitLog.count <= (kind.name.contains("unknown") ? 4 : 3), "\(commitLog)")
    #expect(commit.traffic?.requests == commitLog.count)
    // The other looks, and reads a head and a segment.
    let (fetch, fetchLog) = try await server.requests { try await b.exchange() }
    #expect(fetch.fetchedDeltas == 1)
    #expect(fetchLog.count == 3, "\(fetchLog)")
    #expect(fetchLog.filter { $0.hasSuffix(".head") || $0.hasSuffix(".seg") }.count == 2)
    try b.sync()
    #expect(try b.contents() == a.contents())
  }

  @Test(.serialized, arguments: [Kind.all[0], Kind.all[4]])
  func `the first sync of 100,000 records is requests by the file`(
    _ kind: Kind
  ) async throws {
    let (server, location, _) = try kind.make()
    var options = Options()
    options.limits.recordCount = 1_000_000
    options.limits.datastoreBytes = 1 << 30
    options.limits.deltaBytes = 1 << 30
    let bench = try RemoteBench(location, options: options, keeping: server)
    let a = try bench.open("a")
    let table = try a.table("t")
    for number in 0..<100_000 {
      try table.insert(["n": .int(Int64(number)), "text": .string("a record, number \(number)")])
      if number % 20_000 == 19_999 { try a.sync() }
      // Other tests wait for answers meanwhile.
      if number % 1000 == 0 { await Task.yield() }
    }
    let published = try await a.exchange()
    let traffic = try #require(published.traffic)
    #expect(traffic.requests < published.publishedFiles * 10)
    #expect(traffic.requests < (Int(published.publishedBytes >> 20) + 1) * 10)
    #expect(traffic.sentBytes < published.publishedBytes * 11 / 10 + 100_000)
    let b = try bench.open("b")
    let fetched = try await b.pull()
    let fetchTraffic = try #require(fetched.traffic)
    #expect(fetchTraffic.requests < fetched.fetchedFiles * 10)
    #expect(fetchTraffic.requests < (Int(fetched.fetchedBytes >> 20) + 1) * 10)
    #expect(try b.table("t").count == 100_000)
    // Of all that passes so much is in memory at once, and no more.
    #expect(published.publishedFiles > 1)
    #expect(server.largestBody * server.mostAtOnce <= 9 << 20)
  }

  @Test(arguments: Kind.all)
  func `five devices converge`(_ kind: Kind) async throws {
    let (server, location, _) = try kind.make()
    try await converge(try RemoteBench(location, keeping: server), devices: 5, rounds: 6, seed: 5)
  }

  // MARK: progress

  @Test(arguments: [Kind.all[0], Kind.all[4]])
  func `progress knows its totals before it begins`(_ kind: Kind) async throws {
    let (server, location, _) = try kind.make()
    var options = Options()
    options.tuning.smallFileRun = 1000
    let bench = try RemoteBench(location, options: options, keeping: server)
    let a = try bench.open("a")
    for number in 0..<6 {
      try a.add("r\(number)")
      try await a.exchange()
    }
    #expect(a.progress.isIdle)
    #expect(a.progress.published.files == 6)
    let b = try bench.open("b")
    var iterator = b.progressChanges.makeAsyncIterator()
    let first = try #require(await iterator.next())
    #expect(first == TransferProgress())
    let seen = Shared<[TransferProgress]>([])
    server.observe { asked in
      if asked.method == "GET", asked.path.hasSuffix(".seg") { seen.value.append(b.progress) }
    }
    try await b.exchange()
    #expect(seen.value.count == 6)
    let last = b.progress
    for (index, progress) in seen.value.enumerated() {
      #expect(progress.fetched.files == index)
      #expect(progress.fetched.totalFiles == 6)
      #expect(progress.fetched.totalBytes == last.fetched.totalBytes)
    }
    let bytes = seen.value.map(\.fetched.bytes)
    #expect(zip(bytes, bytes.dropFirst()).allSatisfy { $0 < $1 })
    #expect(last.isIdle && last.fetched.files == 6)
    // A reader that is late hears the newest.
    #expect(await iterator.next() == last)
    try b.close()
    #expect(await iterator.next() == nil)
  }

  @Test(arguments: [Kind.all[0], Kind.all[4]])
  func `a round that ends badly ends progress, too`(_ kind: Kind) async throws {
    let (server, location, _) = try kind.make()
    let proxy = try FaultProxy(to: server.port)
    let bench = try RemoteBench(
      location.through(proxy.server.port, insteadOf: server.port), keeping: server)
    let a = try bench.open("a")
    try a.add("one")
    try await a.exchange()
    let b = try bench.open("b")
    let (idle, isDown) = (Shared<[Bool]>([]), Shared(false))
    proxy.set { asked in
      if asked.method == "GET", asked.path.hasSuffix(".seg") { isDown.value = true }
      guard isDown.value else { return nil }
      idle.value.append(b.progress.isIdle)
      return .refused
    }
    await #expect(throws: CairnError.self) { try await b.exchange() }
    #expect(b.progress.isIdle)
    // It was not, while it was asked for.
    #expect(idle.value.contains(false) && !idle.value.contains(true))
    // Of what did not come nothing falls when it does.
    let before = b.progress
    proxy.heal()
    try await b.exchange()
    #expect(b.progress.isIdle)
    #expect(b.progress.fetched.files >= before.fetched.files)
    try b.add("two")
    proxy.set { $0.method == "PUT" ? .broken : nil }
    await #expect(throws: CairnError.self) { try await b.exchange() }
    #expect(b.progress.isIdle)
  }

  @Test func `uploads that follow one another are never idle in between`() async throws {
    let (server, location, _) = try Kind.all[0].make()
    var options = Options()
    options.tuning.packBytes = 300
    options.tuning.smallFileRun = 1000
    let bench = try RemoteBench(location, options: options, keeping: server)
    let a = try bench.open("a")
    for number in 0..<40 { try a.add("r\(number)") }
    let seen = Shared<[TransferProgress]>([])
    server.observe { asked in
      if asked.method == "PUT", asked.path.hasSuffix(".seg") { seen.value.append(a.progress) }
    }
    let report = try await a.exchange()
    #expect(report.publishedFiles > 3)
    #expect(seen.value.count == report.publishedFiles - 1)
    #expect(seen.value.allSatisfy { !$0.isIdle })
    for (index, progress) in seen.value.dropLast().enumerated() {
      // One is on its way, and the next one is known.
      #expect(progress.published.totalFiles == index + 2)
    }
    #expect(a.progress.isIdle)
  }

  @Test func `progress says that a transfer has stalled, and when it goes on`() async throws {
    let memory = MemoryDAV(MemoryDAV.Manners(clockTicks: true))
    let server = try TestServer { memory.answer($0) }
    let writer = try RemoteBench(.webDAV("\(server.origin)/f", .test), keeping: server)
    let a = try writer.open("a")
    try a.add("one")
    try await a.exchange()
    var settings = ServerSettings.test
    settings.stallSeconds = 0.3
    let reader = try RemoteBench(.webDAV("\(server.origin)/f", settings), keeping: server)
    let b = try reader.open("b")
    let seen = Shared<[Bool]>([])
    let silences = Shared(0)
    server.handle { asked in
      guard asked.method == "GET", asked.path.hasSuffix(".seg") else { return memory.answer(asked) }
      seen.value.append(b.progress.isStalled)
      silences.value += 1
      return silences.value == 1 ? .silence : memory.answer(asked)
    }
    #expect(try await b.exchange().fetchedDeltas == 1)
    // Not while it was asked for the first time, but the second time, and never after that.
    #expect(seen.value.count >= 2 && !seen.value[0] && seen.value[1])
    #expect(!b.progress.isStalled && b.progress.isIdle)
  }

  // MARK: budgets

  @Test func `a snapshot for which a budget has no room keeps nothing back`() async throws {
    let memory = MemoryDAV(MemoryDAV.Manners(clockTicks: true))
    let server = try TestServer { memory.answer($0) }
    var settings = ServerSettings.test
    settings.budget = TransferBudget(bytesPerHour: 50_000)
    var options = Options()
    options.tuning.smallFileBytes = 1
    let bench = try RemoteBench(
      .webDAV("\(server.origin)/f", settings), options: options, keeping: server)
    let a = try bench.open("a")
    for number in 0..<3 {
      try a.table("t").insert(["bytes": .bytes(SeededRandom(UInt64(number)).bytes(10_000))])
    }
    try a.sync()
    try a.compact()
    let report = try await a.exchange()
    #expect(report.publishedDeltas == 1 && !report.publishedSnapshot)
    #expect(report.problems.count == 1 && report.problems[0].reason.contains("budget"), "\(report)")
    #expect(memory.names.contains { $0.hasSuffix(".head") })
    let names = memory.names.compactMap { $0.split(separator: "/").last }.map(String.init)
    #expect(!names.contains { FileName.sharedSnapshot($0) != nil })
    // Without the budget it follows.
    try a.close()
    let again = try DatastoreManager(
      root: bench.place.path + "/a",
      account: Account(user: "ann", folder: .webDAV("\(server.origin)/f", .test)),
      options: options
    ).openOrCreateDatastore(bench.id)
    #expect(try await again.exchange().publishedSnapshot)
  }

  // MARK: faults

  @Test(arguments: [Kind.all[0], Kind.all[3], Kind.all[4]], [UInt64](1...4))
  func `devices converge although requests fail`(_ kind: Kind, _ seed: UInt64) async throws {
    let (server, location, _) = try kind.make()
    let proxy = try FaultProxy(to: server.port)
    let bench = try RemoteBench(
      location.through(proxy.server.port, insteadOf: server.port), keeping: server)
    proxy.spoil(every: 4, seed: seed)
    try await converge(bench, devices: 3, rounds: 8, seed: seed, proxy: proxy)
    #expect(proxy.faultsTaken.count > 10)
  }

  @Test(arguments: [Kind.all[0], Kind.all[4]])
  func `a server that is away loses nothing`(_ kind: Kind) async throws {
    let (server, location, _) = try kind.make()
    let proxy = try FaultProxy(to: server.port)
    let bench = try RemoteBench(
      location.through(proxy.server.port, insteadOf: server.port), keeping: server)
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.add("before")
    try await a.exchange()
    try await b.pull()
    for fault in FaultProxy.Fault.open where fault != .late {
      proxy.set { _ in fault }
      try a.add("\(fault)")
      let error = await #expect(throws: CairnError.self) { try await a.exchange() }
      #expect(error?.blamesCaller == false)
      #expect(a.status.uploadError != nil)
      proxy.heal()
      try await a.exchange()
      #expect(a.status.uploadError == nil)
      try await b.pull()
      #expect(try b.ids() == a.ids())
    }
  }

  /// Devices that write at once, exchange in turns, and agree in the end.
  func converge(
    _ bench: RemoteBench, devices: Int, rounds: Int, seed: UInt64, proxy: FaultProxy? = nil
  ) async throws {
    let random = SeededRandom(seed)
    let all = try (0..<devices).map { try bench.open("device-\($0)") }
    let watches = all.map { $0.watchProgress() }
    for round in 0..<rounds {
      for (index, device) in all.enumerated() {
        let table = try device.table("t")
        switch random.below(4) {
        case 0: try table.insert(["by": .int(Int64(index)), "round": .int(Int64(round))])
        case 1:
          let record = try table.getOrInsert(RecordID("shared-\(random.below(3))")).record
          try record.set("n", .int(Int64(random.below(1000))))
        case 2:
          if let record = try table.query().first { try record.delete() }
        default: break
        }
        try device.sync()
        do throws(CairnError) { try await device.exchange() } catch {
          if proxy == nil { throw error }
        }
        #expect(device.progress.isIdle)
        try device.sync()
      }
    }
    proxy?.heal()
    for _ in 0..<6 { for device in all { try await device.pull() } }
    let contents = try all[0].contents()
    for device in all { #expect(try device.contents() == contents) }
    for device in all { try device.close() }
    for watch in watches { #expect(await watch.value > 0) }
  }
}

extension FolderLocation {
  /// The same by way of another port.
  func through(_ port: UInt16, insteadOf old: UInt16) -> FolderLocation {
    guard case .server(let folder) = self else { return self }
    let address = folder.address.replacingOccurrences(of: ":\(old)", with: ":\(port)")
    return .server(ServerFolder(address, kind: folder.kind))
  }
}

/// The same on the servers that Tools/servers has started.
@Suite(.enabled(if: !Given.both.isEmpty)) struct GivenServerTests {
  @Test(arguments: Given.both)
  func `two and five devices converge`(_ given: Given) async throws {
    let tests = RemoteExchangeTests()
    try await tests.converge(try RemoteBench(given), devices: 2, rounds: 6, seed: 2)
    try await tests.converge(try RemoteBench(given), devices: 5, rounds: 4, seed: 5)
  }

  @Test(arguments: Given.both)
  func `devices converge although requests fail`(_ given: Given) async throws {
    let proxy = try FaultProxy(to: given.port)
    proxy.spoil(every: 5, seed: 7)
    let bench = try RemoteBench(given, through: proxy.server.port)
    try await RemoteExchangeTests().converge(bench, devices: 3, rounds: 6, seed: 7, proxy: proxy)
    #expect(proxy.faultsTaken.count > 5)
  }

  @Test(arguments: Given.both)
  func `a quiet folder costs a request, and a commit three`(_ given: Given) async throws {
    let bench = try RemoteBench(given)
    let a = try bench.open("a")
    for number in 0..<3 {
      try a.add("a\(number)")
      try await a.exchange()
    }
    try await a.settle()
    #expect(try await a.exchange().traffic?.requests == 1)
    try a.add("one-more")
    let commit = try await a.exchange()
    #expect(commit.publishedDeltas == 1)
    let isUnknown = given.name.contains("rclone") || given.name.contains("wsgidav")
    #expect(try #require(commit.traffic).requests <= (isUnknown && !given.isS3 ? 4 : 3))
  }

  @Test(arguments: Given.both)
  func `wrong credentials are told, and no secret is`(_ given: Given) async throws {
    let wrong: Credentials =
      given.isS3
      ? .accessKey(id: given.credentials?.name ?? "", secret: "wrong-secret")
      : .password(user: given.credentials?.name ?? "", password: "wrong-secret")
    let kind = given.kind { $0.credentials = .given(wrong) }
    let folder = try kind.open(given.fresh())
    let error = await #expect(throws: CairnError.self) { try await folder.list("d") }
    #expect(error?.code == .auth)
    #expect(error?.message.contains("wrong-secret") == false)
  }

  @Test(arguments: Given.s3)
  func `what a bucket makes of conditions is found out`(_ given: Given) async throws {
    let folder = try #require(try given.kind().open(given.fresh()) as? S3Folder)
    let answer = try await folder.probeConditionalWrites()
    switch given.name {
    case "S3: rclone": #expect(answer == .ignored)
    case "S3: swift": #expect(answer == .unsupported)
    default: #expect(answer == .honoured)
    }
  }
}

extension Datastore {
  /// Exchanges until nothing is left to read again: some servers' clocks tell seconds only.
  func settle() async throws {
    for _ in 0..<20 {
      if try await exchange().traffic?.requests == 1 { return }
      try await Task.sleep(for: .seconds(0.5))
    }
  }
}

/// Certificates are always verified.
@Suite(.enabled(if: ProcessEnvironment.value("CAIRN_TEST_TLS") != nil)) struct CertificateTests {
  private func folder(
    _ change: (inout ServerSettings) -> Void, host: String = "localhost"
  ) throws -> any Folder {
    let text = try #require(ProcessEnvironment.value("CAIRN_TEST_TLS"))
    let given = Given(
      name: "https", address: text.replacing("localhost", with: host),
      credentials: Given.webDAV.first?.credentials)
    return try given.kind(change).open(given.fresh())
  }

  @Test func `a server that an own authority vouches for is trusted if that is given`() async throws
  {
    let authority = ProcessEnvironment.value("CAIRN_TEST_CA")
    let folder = try folder { $0.certificateFile = authority }
    _ = try await folder.write("d/a.seg", [1, 2])
    #expect(try await folder.read("d/a.seg", limit: 10) == [1, 2])
  }

  @Test func `otherwise it is not`() async throws {
    let folder = try folder { $0.attempts = 1 }
    let error = await #expect(throws: CairnError.self) { try await folder.list("d") }
    #expect(error?.code == .ssl)
  }

  @Test func `nor under another name than its own`() async throws {
    let authority = ProcessEnvironment.value("CAIRN_TEST_CA")
    let folder = try folder(
      {
        $0.certificateFile = authority
        $0.attempts = 1
      }, host: "127.0.0.1")
    let error = await #expect(throws: CairnError.self) { try await folder.list("d") }
    #expect(error?.code == .ssl)
  }

  @Test func `a file of certificates that is none is told`() async throws {
    let folder = try folder { $0.certificateFile = "/dev/null" }
    let error = await #expect(throws: CairnError.self) { try await folder.list("d") }
    #expect(error?.code == .ssl)
  }

  @Test func `a bucket's server has to be vouched for as well`() async throws {
    let text = try #require(ProcessEnvironment.value("CAIRN_TEST_TLS"))
    let authority = try #require(text.split(separator: "/").dropFirst().first)
    func code(_ host: String, _ file: String?) async throws -> CairnError.Code? {
      var settings = ServerSettings.test
      settings.attempts = 1
      settings.certificateFile = file
      let endpoint = "https://" + authority.replacing("localhost", with: host)
      let folder = try FolderKind.s3(settings).open("s3://cairn/f?endpoint=\(endpoint)")
      return await #expect(throws: CairnError.self) { try await folder.list("d") }?.code
    }
    #expect(try await code("localhost", nil) == .ssl)
    let file = ProcessEnvironment.value("CAIRN_TEST_CA")
    #expect(try await code("127.0.0.1", file) == .ssl)
    // It is trusted, and is none of S3.
    let trusted = try await code("localhost", file)
    #expect(trusted != nil && trusted != .ssl)
  }
}
