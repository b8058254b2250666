import CairnBytes
import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A follower's disk that does not remove one of the contents that nobody needs any more.
@Suite struct FollowCollectionTests {
  private let bench: FolderWorkbench
  private let clock = ManualClock(Machine.real.clock.now())
  /// The name of the file that is not removed.
  private let stuck = Shared<String?>(nil)
  /// How often it was to be removed.
  private let asked = Told<String>()

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    bench.options.compactsAutomatically = false
    bench.options.attachmentGraceSeconds = 0
  }

  private var blobs: String { bench.root("follower") + "/followed/blobs" }

  private func name(_ content: [UInt8]) -> String { SHA256.hash(content).hex + ".blob" }

  private func follow(
    _ tables: FollowPolicy.Tables = .all
  ) async throws -> DatastoreFollower {
    let path = bench.folder
    let stuck = stuck
    let asked = asked
    var disk = ProbedDisk()
    disk.mayRemove = { path in
      guard let name = stuck.withLock({ $0 }), path.hasSuffix("/" + name) else { return true }
      asked.add(path)
      return false
    }
    return try await DatastoreFollower.subscribe(
      to: bench.id, in: .directory(path), root: bench.root("follower"),
      policy: FollowPolicy(tables: tables), options: bench.options,
      opener: { DirectoryFolder(path) },
      machine: Machine(disk: disk, clock: clock, random: Machine.real.random))
  }

  /// A member with two contents, which a follower has. Of the two the first one, in the order in
  /// which they go, will not.
  private func begun() async throws -> (member: Datastore, follower: DatastoreFollower) {
    let a = try bench.open("a")
    for number in 1...2 { try a.addPhoto("p\(number)", sample(UInt64(number))) }
    try await a.exchange()
    let follower = try await follow()
    for _ in 0..<2 { try await follower.pull() }
    let first = [name(sample(1)), name(sample(2))].sorted()
    #expect(try bench.names(blobs, ".blob").sorted() == first)
    stuck.withLock { $0 = first[0] }
    return (a, follower)
  }

  @Test func `after another choice of tables it keeps neither the others here nor new ones away`()
    async throws
  {
    let (a, first) = try await begun()
    try first.close()
    try a.table("u").insert(["photo": a.attach(sample(3)).value], id: "u")
    try a.sync()
    try await a.exchange()
    let second = try await follow(.only(["u"]))
    try await second.pull()
    let report = try await second.pull()
    let left = try #require(stuck.withLock { $0 })
    #expect(try bench.names(blobs, ".blob").sorted() == [left, name(sample(3))].sorted())
    #expect(report.problems.map { $0.name.hasSuffix(left) } == [true])
    stuck.withLock { $0 = nil }
    try await second.pull()
    #expect(try bench.names(blobs, ".blob") == [name(sample(3))])
  }

  @Test func `once a day it is tried again, and new ones come meanwhile`() async throws {
    let (a, follower) = try await begun()
    for number in 1...2 { try a.table("t").record(RecordID("p\(number)"))?.remove("photo") }
    try a.sync()
    try await a.exchange()
    try await follower.pull()
    #expect(try bench.names(blobs, ".blob").count == 2 && asked.all == [])
    try a.addPhoto("p3", sample(3))
    try await a.exchange()
    clock.advance(by: 86_400_000)
    for _ in 0..<3 { try await follower.pull() }
    let left = try #require(stuck.withLock { $0 })
    let names = try bench.names(blobs, ".blob").sorted()
    #expect(names == [left, name(sample(3))].sorted())
    #expect(try follower.datastore.content(of: "p3") == sample(3))
    #expect(asked.all.count == 1)
    clock.advance(by: 86_400_000)
    for _ in 0..<3 { try await follower.pull() }
    #expect(asked.all.count == 2)
    stuck.withLock { $0 = nil }
    clock.advance(by: 86_400_000)
    try await follower.pull()
    #expect(try bench.names(blobs, ".blob") == [name(sample(3))])
  }
}
