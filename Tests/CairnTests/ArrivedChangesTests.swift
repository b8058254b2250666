import CairnDisk
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// What a new device is told of the snapshot that it took in: its records are read when they are
/// asked for.
@Suite(.timeLimit(.minutes(20))) struct ArrivedChangesTests {
  private let bench: FolderWorkbench
  private static let count = 4000

  init() throws {
    bench = try FolderWorkbench()
    bench.options.segmentBytes = 1 << 20
    bench.options.durability = .none
  }

  private static func id(_ number: Int) -> RecordID { RecordID("r\(number)") }
  private static let all = Set((0..<count).map(id))

  /// A device that has published a snapshot of several blocks.
  private func publisher() async throws -> Datastore {
    let a = try bench.open("a")
    let random = SeededRandom(1)
    for number in 0..<Self.count {
      try a.table("t").insert(["noise": .bytes(random.bytes(100))], id: Self.id(number))
    }
    try a.table("t").insert(["a": 1], id: "gone")
    try a.sync()
    try a.table("t")["gone"].delete()
    try a.sync()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    return a
  }

  private func newcomer() async throws -> (Datastore, SyncResult) {
    let b = try bench.open("b")
    #expect(try await b.exchange().fetchedSnapshot)
    return (b, try b.sync())
  }

  private func ids(_ changes: [SyncResult.Change]) -> [RecordID] {
    changes.filter { $0.table == "t" }.map(\.id)
  }

  @Test func `all records of a snapshot are among the changes, each once`() async throws {
    _ = try await publisher()
    let (b, result) = try await newcomer()
    for _ in 0..<2 {
      let found = ids(result.changes)
      #expect(found.count == Self.count && Set(found) == Self.all)
      #expect(result.changes.allSatisfy { !$0.isDeleted })
      #expect(result.changedRecords["t"] == Self.all)
    }
    #expect(result.conflicts.isEmpty && result.incorporated > 0)
    #expect(try b.sync().changes.isEmpty)
  }

  @Test func `what came with later deltas is told as they left it`() async throws {
    let a = try await publisher()
    try a.table("t")[Self.id(5)].delete()
    try a.table("t")[Self.id(6)].set("noise", "none")
    try a.table("t").insert(["a": 1], id: "new")
    try a.sync()
    try await a.exchange()
    let (_, result) = try await newcomer()
    let found = ids(result.changes)
    #expect(found.count == Self.count + 1 && Set(found) == Self.all.union(["new"]))
    #expect(result.changes.filter(\.isDeleted).map(\.id) == [Self.id(5)])
  }

  @Test func `the changes are those of then, whatever is done since`() async throws {
    _ = try await publisher()
    let (b, result) = try await newcomer()
    try b.table("t")[Self.id(1)].delete()
    try b.table("t").insert(["a": 1], id: "mine")
    try b.sync()
    try b.compact()
    #expect(Set(ids(result.changes)) == Self.all)
    try b.close()
    #expect(Set(ids(result.changes)) == Self.all)
  }

  @Test func `records of a block that has come to harm are left out, and no others`() async throws {
    _ = try await publisher()
    let (b, result) = try await newcomer()
    let path = try #require(b.store.snapshotFile()?.path)
    let file = try PosixDisk().open(path, .readWrite)
    let size = try file.size()
    #expect(size > 200_000, "several blocks")
    let place = size / 2
    let before = try file.read(at: place, count: 16)
    // More than one flipped bit, which would be mended.
    let harmed = before.map { ~$0 }
    try file.write(harmed.span, at: place)
    let left = Set(ids(result.changes))
    #expect(left.count < Self.count && left.count > Self.count / 4)
    #expect(left.isSubset(of: Self.all))
    try file.write(before.span, at: place)
    file.close()
    #expect(Set(ids(result.changes)) == Self.all)
  }

  @Test func `changes that are set replace those that were to be read`() async throws {
    _ = try await publisher()
    var (_, result) = try await newcomer()
    let one = SyncResult.Change(table: "t", id: "x", isDeleted: true)
    result.changes.append(one)
    #expect(result.changes.count > Self.count && result.changes.last == one)
    result.changes = [one]
    #expect(result.changes == [one] && result.changedRecords == ["t": ["x"]])
  }
}
