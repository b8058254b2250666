import CairnDisk
import TestSupport
import Testing

@testable import Cairn
@testable import CairnS3
@testable import CairnWebDAV
@testable import TestServers

/// Files that a server lists and does not give: they stop nobody else's.
@Suite struct RemoteRefusalTests {
  private struct Place {
    let bench: RemoteBench
    let server: TestServer
    /// Names of files that are not given, until something takes their place.
    let refused: Shared<Set<String>>
    let names: @Sendable () -> [String]
    let bytes: @Sendable (String) -> [UInt8]?
    let put: @Sendable (String, [UInt8]) -> Void

    init(isBucket: Bool, _ status: Int) throws {
      let refused = Shared<Set<String>>([])
      self.refused = refused
      let (dav, bucket) = (MemoryDAV(MemoryDAV.Manners(clockTicks: true)), MemoryS3())
      server = try TestServer { asked in
        let name = asked.path.split(separator: "/").last.map(String.init) ?? ""
        if refused.value.contains(name) {
          if asked.method == "GET" { return .text(status, "no") }
          if asked.method == "PUT" { refused.value.remove(name) }
        }
        return isBucket ? bucket.answer(asked) : dav.answer(asked)
      }
      names = { isBucket ? bucket.names : dav.names }
      bytes = { isBucket ? bucket.bytes($0) : dav.bytes($0) }
      put = { isBucket ? bucket.put($0, $1) : dav.put($0, $1) }
      bench = try RemoteBench(
        isBucket
          ? .s3("s3://cairn/f?endpoint=\(server.origin)", .test)
          : .webDAV("\(server.origin)/f", .test), keeping: server)
    }

    /// Names of files with an ending, of one device or of all.
    func files(_ suffix: String, of device: Datastore? = nil) -> [String] {
      names().compactMap { $0.split(separator: "/").last.map(String.init) }.filter {
        $0.hasSuffix(suffix) && $0.hasPrefix(device?.device ?? "")
      }
    }
  }

  @Test(arguments: ["segment", "head", "foreign"], [403, 423, 500])
  func `a file that the server does not give stops nobody else's`(
    _ kind: String, _ status: Int
  ) async throws {
    for isBucket in [false, true] {
      let place = try Place(isBucket: isBucket, status)
      let (a, b) = (try place.bench.open("a"), try place.bench.open("b"))
      let c = try place.bench.open("c")
      for (name, device) in [("a", a), ("c", c)] {
        try device.add(name)
        try await device.exchange()
      }
      let name: String
      if kind == "foreign" {
        name = "film"
        let head = try #require(place.names().first { $0.hasSuffix(".head") })
        place.put(
          head.split(separator: "/").dropLast().joined(separator: "/") + "/film",
          SeededRandom(1).bytes(1000))
      } else {
        name = try #require(place.files(kind == "head" ? ".head" : ".seg", of: a).first)
      }
      place.refused.value = [name]
      try b.add("b")
      let report = try await b.pull()
      #expect(report.problems.map(\.name) == [name])
      #expect(try #require(report.problems.first).reason.contains("\(status)"))
      #expect(report.publishedDeltas == 1 && b.status.downloadError == nil)
      #expect(try b.ids() == (kind == "foreign" ? ["a", "b", "c"] : ["b", "c"]))
      try await c.pull()
      #expect(try c.ids().contains("b"))
      // As long as it stays so it is said, and asked for ever more seldom.
      let before = place.server.log.count { $0.hasSuffix("/" + name) }
      for _ in 0..<8 { #expect(try await b.pull().problems.map(\.name) == [name]) }
      let tries = place.server.log.count { $0.hasSuffix("/" + name) } - before
      // Once more if its version was too young to say anything.
      #expect(tries > 0 && tries <= (status == 403 ? 4 : 20), "\(tries)")
      place.refused.value = []
      for _ in 0..<9 { try await b.pull() }
      #expect(try await b.pull().problems == [])
      #expect(try b.ids() == ["a", "b", "c"])
    }
  }

  @Test(arguments: [false, true], [403, 423])
  func `many files that are not given stop nobody else's`(
    _ isBucket: Bool, _ status: Int
  ) async throws {
    let place = try Place(isBucket: isBucket, status)
    let devices = try (0..<5).map { try place.bench.open("device-\($0)") }
    for (index, device) in devices.enumerated() {
      try device.add("r\(index)")
      try await device.exchange()
    }
    // An old file of all but one.
    place.refused.value = Set(devices.dropLast().flatMap { place.files(".seg", of: $0) })
    #expect(place.refused.value.count == 4)
    let late = try place.bench.open("late")
    try late.add("late")
    let report = try await late.pull()
    #expect(Set(report.problems.map(\.name)) == place.refused.value)
    #expect(try late.ids() == ["late", "r4"] && report.publishedDeltas == 1)
  }

  @Test(arguments: [(500, CairnError.Code.server, 2), (429, .retryLater, 1), (503, .retryLater, 1)])
  func `a server that fails in the middle of a round is not asked for every file`(
    _ answer: (status: Int, code: CairnError.Code, files: Int)
  ) async throws {
    let memory = MemoryDAV(MemoryDAV.Manners(clockTicks: true))
    let server = try TestServer { memory.answer($0) }
    let bench = try RemoteBench(.webDAV("\(server.origin)/f", .test), keeping: server)
    for index in 0..<5 {
      let device = try bench.open("device-\(index)")
      try device.add("r\(index)")
      try await device.exchange()
    }
    let late = try bench.open("late")
    try late.add("late")
    let isOut = Shared(false)
    server.handle { asked in
      if asked.method == "GET", asked.path.hasSuffix(".head") { isOut.value = true }
      return isOut.value ? .text(answer.status, "out of order") : memory.answer(asked)
    }
    server.clearLog()
    let error = await #expect(throws: CairnError.self) { try await late.exchange() }
    #expect(error?.code == answer.code)
    let asked = Set(server.log.filter { $0.hasPrefix("GET") && $0.hasSuffix(".head") })
    #expect(asked.count == answer.files, "\(asked)")
    server.handle { memory.answer($0) }
    for _ in 0..<3 { try await late.pull() }
    #expect(try late.ids().count == 6)
  }

  /// A copy of this device may have written it.
  @Test(arguments: [403, 423, 500])
  func `the own head that is not given is waited for, and then written again`(
    _ status: Int
  ) async throws {
    let place = try Place(isBucket: true, status)
    var a = try place.bench.open("a")
    try a.add("a")
    try await a.exchange()
    let device = a.device
    try a.close()
    a = try place.bench.open("a")
    try a.add("later")
    place.refused.value = Set(place.files(".head"))
    for round in 1...3 {
      let report = try await a.pull()
      #expect(report.problems.map(\.name) == [device + ".head"] && !report.isRejoining)
      #expect(report.publishedDeltas == (round < 3 ? 0 : 1))
    }
    #expect(a.device == device && place.refused.value.isEmpty)
    #expect(try await a.pull().problems == [])
    let b = try place.bench.open("b")
    try await b.pull()
    #expect(try b.ids() == ["a", "later"])
  }

  @Test func `a file that is locked for long keeps the server from nobody else`() async throws {
    let memory = MemoryDAV(MemoryDAV.Manners(clockTicks: true))
    let server = try TestServer { memory.answer($0) }
    let bench = try RemoteBench(.webDAV("\(server.origin)/f", .test), keeping: server)
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.add("a")
    try await a.exchange()
    server.handle { asked in
      asked.method == "GET" && asked.path.hasSuffix(".seg")
        ? .answer(423, [("Retry-After", "3600")]) : memory.answer(asked)
    }
    try b.add("b")
    let report = try await b.pull()
    #expect(report.problems.count == 1 && report.publishedDeltas == 1)
    server.handle { memory.answer($0) }
    try await b.pull()
    #expect(try b.ids() == ["a", "b"])
  }

  /// What is merged is read back.
  @Test(arguments: [403, 423])
  func `an own file that is not given does not keep others waiting`(_ status: Int) async throws {
    let place = try Place(isBucket: false, status)
    let a = try place.bench.open("a")
    for number in 0..<Tuning().smallFileRun - 1 {
      try a.add("r\(number)")
      try await a.exchange()
    }
    place.refused.value = [try #require(place.files(".seg", of: a).first)]
    try a.add("last")
    let report = try await a.exchange()
    #expect(report.publishedDeltas == 1 && report.mergedFiles == 0)
    #expect(report.problems.count == 1 && !a.status.uploading)
    place.refused.value = []
    try a.add("later")
    #expect(try await a.exchange().mergedFiles > 0)
  }

  @Test(arguments: [403, 423, 500])
  func `a content that is not given does not end a thorough look`(_ status: Int) async throws {
    for isBucket in [false, true] {
      let place = try Place(isBucket: isBucket, status)
      let a = try place.bench.open("a")
      for number in 0..<3 {
        let content = try a.attach(SeededRandom(UInt64(number)).bytes(200))
        try a.table("t").insert(["file": content.value], id: RecordID("r\(number)"))
      }
      try a.sync()
      try await a.exchange()
      let paths = place.names().filter { $0.hasSuffix(".blob") }.sorted()
      let files = paths.compactMap { $0.split(separator: "/").last.map(String.init) }
      try #require(files.count == 3)
      place.put(paths[2], SeededRandom(9).bytes(200))
      place.refused.value = [files[0]]
      let repair = try await a.repairFolder()
      #expect(repair.problems.count == 1)
      #expect(repair.problems.first?.hasPrefix("\(files[0]) was not checked: ") == true)
      #expect(repair.damaged.map(\.name) == [files[2]] && repair.written == [files[2]])
      place.refused.value = []
      #expect(try await a.repairFolder().wasWhole)
    }
  }

  @Test(arguments: [403, 423, 500])
  func `a content that is not given keeps no other one waiting`(_ status: Int) async throws {
    for isBucket in [false, true] {
      let place = try Place(isBucket: isBucket, status)
      let (a, b) = (try place.bench.open("a"), try place.bench.open("b"))
      for (number, size) in [100, 200, 300].enumerated() {
        let content = try a.attach(SeededRandom(UInt64(number)).bytes(size))
        try a.table("t").insert(["file": content.value], id: RecordID("r\(number)"))
      }
      try a.sync()
      try await a.exchange()
      let small = try #require(
        place.names().first { $0.hasSuffix(".blob") && place.bytes($0)?.count == 100 })
      place.refused.value = [String(try #require(small.split(separator: "/").last))]
      var (fetched, problems) = (0, 0)
      for _ in 0..<3 {
        let report = try await b.pull()
        fetched += report.fetchedAttachments
        problems += report.problems.count
      }
      #expect(fetched == 2 && problems > 0)
      place.refused.value = []
      for _ in 0..<8 { fetched += try await b.pull().fetchedAttachments }
      #expect(fetched == 3)
    }
  }

  @Test(arguments: [423, 503])
  func `of a content that is not given just now no other copy is asked for in that round`(
    _ status: Int
  ) async throws {
    let place = try Place(isBucket: true, status)
    let bytes = SeededRandom(1).bytes(100)
    for name in ["a", "c"] {
      let device = try place.bench.open(name)
      let content = try device.attach(bytes)
      try device.table("t").insert(["file": content.value], id: RecordID(name))
      try device.sync()
      try await device.exchange()
    }
    let copies = place.files(".blob").sorted()
    try #require(copies.count == 2)
    let b = try place.bench.open("b")
    func asked() -> [Bool] {
      copies.map { copy in
        place.server.log.contains { $0.hasPrefix("GET") && $0.hasSuffix("/" + copy) }
      }
    }
    // It hears of the records first.
    _ = try await b.pull()
    #expect(asked() == [false, false])
    place.refused.value = [copies[0]]
    let first = try await b.pull()
    #expect(first.fetchedAttachments == 0 && first.problems.count == 1)
    #expect(asked() == [true, false])
    // Then with another one.
    place.refused.value = Set(copies)
    place.server.clearLog()
    let second = try await b.pull()
    #expect(second.fetchedAttachments == 0 && second.problems.count == 1)
    #expect(asked() == [false, true])
    // The listing that tells whether the server is busy is counted, too.
    let log = place.server.log
    #expect(second.requests == log.count { !$0.hasSuffix(".blob") }, "\(log)")
    place.refused.value = []
    #expect(try await b.pull().fetchedAttachments == 1)
  }

  /// A copy of this installation may have written it.
  @Test(arguments: [403, 423, 500])
  func `the own list of datastores that is not given is waited for, and then written again`(
    _ status: Int
  ) async throws {
    let place = try Place(isBucket: true, status)
    func manager(_ device: String) throws -> DatastoreManager {
      try DatastoreManager(
        root: place.bench.place.path + "/" + device,
        account: Account(user: "ann", folder: place.bench.location))
    }
    func publish(_ device: String, _ title: String) async throws {
      let manager = try manager(device)
      let datastore = try manager.openOrCreateDatastore("of-" + device)
      try datastore.setTitle(title)
      try datastore.sync()
      for _ in 0..<2 { try await datastore.exchange() }
      try datastore.close()
    }
    try await publish("a", "first")
    try await manager("a").refresh()
    let own = try #require(place.files(".cat").first)
    try await publish("a", "second")
    try await publish("c", "others")
    try await manager("c").refresh()
    place.refused.value = [own]
    // A process that has never seen its file.
    let a = try manager("a")
    for round in 1...3 {
      let report = try await a.refresh()
      #expect(report.problems.map(\.name) == [own])
      #expect(try #require(report.problems.first).reason.contains("\(status)"))
      #expect(report.hasPublished == (round == 3))
      #expect(try a.listDatastores().map(\.id).sorted() == ["of-a", "of-c"])
    }
    #expect(place.refused.value.isEmpty)
    #expect(try await a.refresh().problems == [])
    let late = try manager("late")
    try await late.refresh()
    #expect(try late.listDatastores().compactMap(\.title).sorted() == ["others", "second"])
  }

  @Test(arguments: [(403, CairnError.Code.auth), (423, .retryLater), (500, .server)])
  func `a list that is not given ends no pull, and nobody subscribes by the others alone`(
    _ answer: (status: Int, code: CairnError.Code)
  ) async throws {
    let place = try Place(isBucket: true, answer.status)
    let root = place.bench.place.path
    func publish(_ device: String, _ id: String) async throws {
      let manager = try DatastoreManager(
        root: root + "/" + device, account: Account(user: "ann", folder: place.bench.location))
      let datastore = try manager.openOrCreateDatastore(id)
      try datastore.add("of-" + device)
      try await datastore.exchange()
      try datastore.close()
      try await manager.refresh()
    }
    func subscribe(_ id: String, _ name: String) async throws(CairnError) -> DatastoreFollower {
      try await DatastoreFollower.subscribe(
        to: id, in: place.bench.location, root: root + "/" + name)
    }
    func refusal(_ id: String) async -> CairnError.Code? {
      do throws(CairnError) {
        try await subscribe(id, "refused-" + id).close()
        return nil
      } catch { return error.code }
    }
    try await publish("a", "notes")
    let list = try #require(place.files(".cat").first)
    try await publish("c", "others")
    let follower = try await subscribe("notes", "follower")
    place.refused.value = [list]
    for _ in 0..<2 { #expect(try await follower.pull().problems.map(\.name) == [list]) }
    #expect(try follower.datastore.ids() == ["of-a"])
    // Its devices are there, but of which generation they are the list says.
    #expect(await refusal("notes") == answer.code)
    #expect(await refusal("nowhere") == answer.code)
    let other = try await subscribe("others", "other")
    try await other.pull()
    #expect(try other.datastore.ids() == ["of-c"])
    place.refused.value = []
    for _ in 0..<4 { try await follower.pull() }
    #expect(try await follower.pull().problems == [])
    #expect(await refusal("nowhere") == .notFound)
    #expect(await refusal("notes") == nil)
  }

  @Test(arguments: [403, 423])
  func `a list of datastores that is not given hides no other one`(_ status: Int) async throws {
    let refused = Shared("")
    let memory = MemoryDAV(MemoryDAV.Manners(clockTicks: true))
    let server = try TestServer { asked in
      let isRefused = asked.method == "GET" && asked.path.hasSuffix("/" + refused.value)
      return isRefused && !refused.value.isEmpty ? .text(status, "no") : memory.answer(asked)
    }
    let place = try TemporaryDirectory()
    let location = FolderLocation.webDAV("\(server.origin)/f", .test)
    func manager(_ device: String) throws -> DatastoreManager {
      try DatastoreManager(
        root: place.path + "/" + device, account: Account(user: "ann", folder: location))
    }
    var files: [String] = []
    for device in ["a", "c"] {
      let manager = try manager(device)
      let datastore = try manager.openOrCreateDatastore("of-" + device)
      try datastore.add("r")
      try await datastore.exchange()
      try datastore.close()
      try await manager.refresh()
      let all = memory.names.filter { $0.contains("/catalogue/") }
      files += all.filter { !files.contains($0) }
    }
    try #require(files.count == 2)
    refused.value = String(try #require(files[0].split(separator: "/").last))
    let late = try manager("late")
    for _ in 0..<2 {
      let report = try await late.refresh()
      #expect(report.problems.map(\.name) == [refused.value])
    }
    #expect(try late.listDatastores().map(\.id) == ["of-c"])
    refused.value = ""
    for _ in 0..<4 { try await late.refresh() }
    #expect(try late.listDatastores().map(\.id).sorted() == ["of-a", "of-c"])
  }
}
