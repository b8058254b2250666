import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn
@testable import CairnWebDAV
@testable import TestServers

/// A server that takes no file of more than a MiB, as nginx if nobody says otherwise.
@Suite struct RemoteSizeTests {
  private struct Place {
    let bench: RemoteBench
    let memory: MemoryDAV
    let limit: Shared<Int>
    /// Paths of files that it did not take, in order.
    let refused: Shared<[String]>

    init(_ options: Options = Options()) throws {
      let memory = MemoryDAV(MemoryDAV.Manners(clockTicks: true))
      let (limit, refused) = (Shared(1 << 20), Shared<[String]>([]))
      let server = try TestServer { asked in
        guard asked.method == "PUT", asked.body.count > limit.value else {
          return memory.answer(asked)
        }
        refused.value.append(asked.path)
        return .text(413, "no")
      }
      (self.memory, self.limit, self.refused) = (memory, limit, refused)
      bench = try RemoteBench(
        .webDAV("\(server.origin)/f", .test), options: options, keeping: server)
    }

    func names(_ suffix: String) -> [String] { memory.names.filter { $0.hasSuffix(suffix) } }

    /// Inserts and commits so many records of 50,000 bytes each that can't be packed.
    func add(_ count: Int, _ number: Int, to device: Datastore) throws {
      let random = SeededRandom(UInt64(number))
      for part in 0..<count {
        let noise = Value.bytes(random.bytes(50_000))
        try device.table("t").insert(["b": noise], id: RecordID("b\(number)-\(part)"))
      }
      try device.sync()
    }
  }

  /// Nothing goes on by itself, and what was replaced goes at once.
  private static func options() -> Options {
    var options = Options()
    options.durability = .none
    options.graceSeconds = 0
    options.compactsAutomatically = false
    return options
  }

  @Test func `a content that is too large for the server keeps no deltas back`() async throws {
    let bench = try Place().bench
    let a = try bench.open("a")
    let content = try a.attach(SeededRandom(1).bytes(2 << 20))
    try a.table("t").insert(["file": content.value], id: RecordID("large"))
    try a.sync()
    try a.add("behind")
    let report = try await a.exchange()
    #expect(report.publishedDeltas == 2 && report.publishedAttachments == 0)
    #expect(report.problems.map(\.name) == [content.id.description])
    let reason = try #require(report.problems.first).reason
    #expect(reason.contains("413") && reason.contains("client_max_body_size"))
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == ["large", "behind"])
  }

  @Test func `deltas that are too large for the server together go in smaller files`()
    async throws
  {
    let bench = try Place().bench
    let a = try bench.open("a")
    for number in 0..<40 {
      let bytes = SeededRandom(UInt64(number)).bytes(60_000)
      try a.table("t").insert(["b": .bytes(bytes)], id: RecordID("r\(number)"))
      try a.sync()
    }
    #expect(try await a.exchange().publishedDeltas == 40)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids().count == 40)
  }

  /// Eight files are merged, and together they are larger than the server takes.
  @Test(arguments: [false, true])
  func `small files that are too large for the server together are merged in smaller ones`(
    reopens: Bool
  ) async throws {
    let place = try Place(Self.options())
    var a = try place.bench.open("a")
    for number in 0..<50 {
      if number < 10 { try place.add(3, number, to: a) } else { try a.add("r\(number)") }
      let report = try await a.exchange()
      #expect(report.publishedDeltas == 1 && report.problems == [], "commit \(number)")
      if reopens {
        try a.close()
        a = try place.bench.open("a")
      }
    }
    // What was merged last goes with the next round.
    #expect(try await a.exchange().problems == [])
    #expect(place.refused.value.count == 1, "\(place.refused.value)")
    #expect(place.names(".seg").count < 25, "\(place.names(".seg").count)")
    let b = try place.bench.open("b")
    #expect(try await b.pull().problems == [])
    let ids = try a.ids()
    #expect(ids.count == 10 * 3 + 40)
    #expect(try b.ids() == ids)
  }

  /// No two of them are taken in one file; those behind them are merged all the same.
  @Test func `small files of which the server takes no two in one stay, and no others`()
    async throws
  {
    let place = try Place(Self.options())
    place.limit.value = 200 << 10
    let a = try place.bench.open("a")
    for number in 0..<8 {
      try place.add(3, number, to: a)
      #expect(try await a.exchange().problems == [])
    }
    // Of eight, of about four, and of two.
    let refusals = place.refused.value.count
    #expect((2...3).contains(refusals))
    #expect(place.names(".seg").count == 8)
    for number in 0..<16 {
      try a.add("r\(number)")
      #expect(try await a.exchange().problems == [])
    }
    try await a.exchange()
    #expect(place.refused.value.count == refusals)
    #expect(place.names(".seg").count < 20)
    let b = try place.bench.open("b")
    try await b.pull()
    let ids = try a.ids()
    #expect(try b.ids() == ids)
  }

  @Test func `a snapshot that was too large for the server is published once its limit is raised`()
    async throws
  {
    var options = Self.options()
    // Due whenever there is one.
    options.tuning.smallFileBytes = 0
    let place = try Place(options)
    let a = try place.bench.open("a")
    for number in 0..<8 {
      try place.add(5, number, to: a)
      #expect(try await a.exchange().problems == [])
    }
    try a.compact()
    let exchanger = try #require(a.exchanger)
    var tries: [Int] = []
    for round in 1...12 {
      let before = place.refused.value.count
      let report = try await a.exchange()
      if place.refused.value.count > before { tries.append(round) }
      #expect(!report.publishedSnapshot)
      #expect(report.problems.count == place.refused.value.count - before)
      #expect(report.problems.allSatisfy { $0.reason.contains("413") })
      // Nothing of it is there, and no note of it is kept.
      let uploads = exchanger.memory.withLock { $0.histories.uploads }
      #expect(uploads == [], "round \(round)")
    }
    #expect(tries == [1, 2, 4, 8])
    #expect(place.names(".snap") == [])
    place.limit.value = 1 << 30
    var published: [Int] = []
    for round in 13...20 {
      if try await a.exchange().publishedSnapshot { published.append(round) }
    }
    #expect(published == [16])
    #expect(place.names(".snap").count == 1)
    let b = try place.bench.open("b")
    #expect(try await b.exchange().fetchedSnapshot)
    try b.sync()
    let ids = try a.ids()
    #expect(try b.ids() == ids)
  }

  @Test func `a snapshot that the folder lacks is published once the server's limit is raised`()
    async throws
  {
    var options = Self.options()
    // Only because it is needed.
    options.tuning.smallFileBytes = 1 << 40
    options.tuning.smallFileRun = 100
    let place = try Place(options)
    let a = try place.bench.open("a")
    for number in 0..<8 {
      try place.add(5, number, to: a)
      try await a.exchange()
    }
    try a.compact()
    #expect(try await a.exchange().problems == [])
    let lost = try #require(place.names(".seg").first)
    place.memory.put(lost, nil)
    var problems = 0
    for _ in 0..<6 {
      let report = try await a.exchange()
      #expect(!report.publishedSnapshot)
      problems += report.problems.count { $0.reason.contains("413") }
    }
    #expect(problems == 2 && place.refused.value.count == 2)
    // A round that sends it at once, whenever the next try is.
    #expect(try await !a.repairFolder().publishedSnapshot)
    #expect(place.refused.value.count == 3)
    place.limit.value = 1 << 30
    var isPublished = false
    for _ in 0..<70 where !isPublished { isPublished = try await a.exchange().publishedSnapshot }
    #expect(isPublished)
    #expect(try await a.exchange().problems == [])
    let b = try place.bench.open("b")
    for _ in 0..<2 { try await b.pull() }
    let ids = try a.ids()
    #expect(try b.ids() == ids)
  }
}
