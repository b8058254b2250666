import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import Cairn

/// A folder that has lost files gets back what the devices have at home, and devices that lack what
/// only a snapshot has join it with what they have.
@Suite struct FolderLossTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  /// Rounds until nobody has anything to do any more.
  private func settle(_ devices: [Datastore], atMost rounds: Int = 30) async throws {
    var idle = 0
    for _ in 0..<rounds where idle < 2 {
      var isIdle = true
      for device in devices { isIdle = try await device.pull().isIdle && isIdle }
      idle = isIdle ? idle + 1 : 0
    }
    #expect(idle >= 2, "after \(rounds) rounds something still goes on")
  }

  private func change(_ device: Datastore, _ name: String) throws {
    let table = try device.table("t")
    try table.insert(["text": .string(name), "n": 1], id: RecordID(name))
    if try table.record("shared") != nil {
      try table["shared"].set("n", .int(Int64(name.utf8.count)))
    } else {
      try table.insert(["n": 0], id: "shared")
    }
    try device.sync()
  }

  /// Two devices that have published three and two segments of a history with conflicts.
  private func pair(rounds: Int = 3) async throws -> (a: Datastore, b: Datastore) {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    for round in 0..<rounds {
      try change(a, "a\(round)")
      try await a.exchange()
      if round > 0 {
        try change(b, "b\(round)")
        try await b.exchange()
      }
    }
    return (a, b)
  }

  @Test(arguments: ["nothing", "a", "b", "both"])
  func `whatever segments the folder loses, all devices end equal`(compacted: String) async throws {
    for subset in 1..<8 {
      let bench = try FolderWorkbench()
      bench.options.durability = .none
      let losses = FolderLossTests(bench)
      let (a, b) = try await losses.pair(rounds: 2)
      // Nobody has fetched anything yet: what is lost now is only at home.
      if compacted == "a" || compacted == "both" { try a.compact() }
      if compacted == "b" || compacted == "both" { try b.compact() }
      let files = try bench.segments(a).sorted() + bench.segments(b).sorted()
      #expect(files.count == 3)
      for (index, file) in files.enumerated() where subset >> index & 1 == 1 {
        try bench.remove(bench.shared + "/" + file)
      }
      let c = try bench.open("c")
      try losses.change(c, "c")
      try await losses.settle([a, b, c])
      let d = try bench.open("d")
      try await losses.settle([d, a, b, c])
      let wanted = try content(a)
      #expect(wanted["t/c"] != nil && wanted.count == 5, "subset \(subset)")
      for device in [b, c, d] {
        #expect(try content(device) == wanted, "subset \(subset)")
        #expect(try await device.pull().complaints == [], "subset \(subset)")
      }
      for device in [a, b, c, d] { try device.close() }
    }
  }

  private init(_ bench: FolderWorkbench) { self.bench = bench }

  @Test func `a device that goes on after a loss keeps its gap, and others read past it`()
    async throws
  {
    let (a, b) = try await pair()
    try a.compact()
    let lost = try bench.segments(a).sorted()[1]
    try bench.remove(bench.shared + "/" + lost)
    try await settle([a, b])
    try change(a, "later")
    try a.compact()
    for _ in 0..<3 { try await a.exchange() }
    let c = try bench.open("c")
    try change(c, "c")
    try await settle([a, b, c])
    for device in [b, c] { #expect(try content(device) == content(a)) }
    let head = try Head(
      bench.read(bench.shared + "/" + bench.head(a)), name: "head", datastore: nil)
    #expect(head.gaps == [2...2] && head.snapshot != nil)
  }

  @Test func `lost deltas of a device that is gone come from one that has them`() async throws {
    let (a, b) = try await pair()
    try await settle([a, b])
    // Its owner never comes back.
    try a.close()
    let lost = try bench.segments(a)
    try #require(lost.count == 3)
    for file in lost { try bench.remove(bench.shared + "/" + file) }
    let c = try bench.open("c")
    try change(c, "c")
    try await settle([c, b])
    #expect(try content(c) == content(b))
    #expect(try content(c).count == 7)
  }

  // MARK: joins that save bytes

  @Test func `a device that is far behind joins a snapshot, and says what changed`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    let random = SeededRandom(1)
    try a.table("t").insert(["n": 1], id: "kept")
    try a.table("t").insert(["n": 1], id: "gone")
    try a.sync()
    try await settle([a, b])
    try b.table("t").insert(["n": 7], id: "mine")
    try b.table("t")["kept"].set("n", 2)
    try b.sync()
    for index in 0..<24 {
      for part in 0..<2 {
        let bytes = Value.bytes(random.bytes(80_000))
        let id = RecordID("big\(part)")
        if index > 0 {
          try a.table("t")[id].set("bytes", bytes)
        } else {
          try a.table("t").insert(["bytes": bytes], id: id)
        }
      }
      try a.table("t")["kept"].set("x", .int(Int64(index)))
      try a.sync()
      try await a.exchange()
    }
    try a.table("t")["gone"].delete()
    try a.sync()
    try await a.exchange()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let report = try await b.exchange()
    #expect(report.fetchedSnapshot)
    #expect(report.fetchedBytes < 1_000_000, "and not all deltas, 3.8 MB")
    #expect(report.fetchedDeltas == 25)
    try b.table("t").insert(["n": 8], id: "pending")
    let result = try b.sync()
    #expect(result.committed && result.incorporated == 25)
    #expect(
      Set(result.changes.map { "\($0.id) \($0.isDeleted)" })
        == ["big0 false", "big1 false", "kept false", "gone true"])
    try await settle([a, b])
    #expect(try content(a) == content(b))
    #expect(a.size == b.size && a.recordCount == 5)
  }

  // MARK: repair

  @Test func `repairing what is whole changes nothing`() async throws {
    let (a, b) = try await pair()
    try await settle([a, b])
    let before = try bench.names(bench.shared).sorted()
    let repair = try await a.repairFolder()
    #expect(repair.wasWhole && repair.isWhole && repair.written == [])
    #expect(repair.checkedFiles == 3 && repair.checkedBytes > 300)
    #expect(try bench.names(bench.shared).sorted() == before)
  }

  @Test(arguments: [false, true])
  func `damage that no round sees is found and mended`(isCompacted: Bool) async throws {
    let (a, _) = try await pair()
    if isCompacted { try a.compact() }
    let files = try bench.segments(a).sorted()
    let damaged = bench.shared + "/" + files[1]
    try bench.write(damaged, try bench.read(damaged).flipped(at: 150))
    try bench.remove(bench.shared + "/" + files[2])
    let repair = try await a.repairFolder()
    #expect(repair.damaged.map(\.name) == [files[1]])
    #expect(repair.missing == [files[2]])
    #expect(!repair.wasWhole && repair.isWhole)
    #expect(repair.publishedSnapshot == isCompacted)
    if isCompacted {
      #expect(
        repair.onlyInSnapshot == [
          FolderRepair.Range(first: 2, last: 2), FolderRepair.Range(first: 3, last: 3),
        ])
    } else {
      #expect(Set(repair.written) == [files[1], files[2]], "the same bytes under the same names")
    }
    let c = try bench.open("c")
    try change(c, "c")
    try await settle([c])
    #expect(try content(c).keys.filter { $0.hasPrefix("t/a") }.count == 3)
    #expect(try await a.repairFolder().wasWhole)
  }

  @Test func `a damaged snapshot is written again`() async throws {
    let (a, b) = try await pair()
    try a.compact()
    try bench.remove(bench.shared + "/" + (try bench.segments(a).sorted()[0]))
    _ = try await a.repairFolder()
    let name = try #require(try bench.names(bench.shared, ".snap").first)
    let good = try bench.read(bench.shared + "/" + name)
    try bench.write(bench.shared + "/" + name, good.flipped(at: good.count / 2))
    let repair = try await a.repairFolder()
    #expect(repair.damaged.map(\.name) == [name] && repair.written == [name])
    #expect(try bench.read(bench.shared + "/" + name) == good)
    try await settle([a, b])
    #expect(try content(b) == content(a))
  }

  @Test func `a local datastore has no folder to repair`() async throws {
    let local = try DatastoreManager(root: bench.root("local")).openDefaultDatastore()
    let error = await #expect(throws: CairnError.self) { try await local.repairFolder() }
    #expect(error?.code == .invalidOperation)
  }

  // MARK: heads

  @Test func `a head says what is only in its snapshot`() throws {
    var head = Head(datastore: 5, device: DeviceID(rawValue: 9))
    head.last = 10
    head.segments = [
      Head.Segment(first: 3, last: 4, size: 1, hash: 1),
      Head.Segment(first: 5, last: 6, size: 1, hash: 2),
    ]
    let vector = VersionVector([Dot(device: head.device, sequence: 10)])
    head.snapshot = Head.Snapshot(
      hash: 1, size: 2, content: 3, vector: vector, fence: VersionVector())
    let read = try Head(head.encoded(), name: "head", datastore: 5)
    #expect(read == head)
    #expect(read.gaps == [1...2, 7...10])
    head.snapshot = nil
    #expect(throws: LogError.self) { try Head(head.encoded(), name: "head", datastore: 5) }
    head.last = 6
    #expect(try Head(head.encoded(), name: "head", datastore: 5).gaps == [1...2])
    head.last = 5
    #expect(throws: LogError.self) { try Head(head.encoded(), name: "head", datastore: 5) }
  }
}
