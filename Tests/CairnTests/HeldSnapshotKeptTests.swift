import CairnDisk
import TestSupport
import Testing

@testable import Cairn
@testable import CairnStore

/// A snapshot that deletes too much waits at home for somebody's consent.
@Suite struct HeldSnapshotKeptTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    bench.options.compactsAutomatically = false
  }

  private func id(_ number: Int) -> RecordID { RecordID("r\(number)") }

  /// One that has deleted 80 of 100 records, of which the folder has no deltas any more.
  private func deleter(after meeting: (Datastore) async throws -> Void) async throws {
    let a = try bench.open("a")
    for number in 0..<100 { try a.table("t").insert(["n": .int(Int64(number))], id: id(number)) }
    try a.sync()
    try await a.exchange()
    try await meeting(a)
    let before = Set(try bench.segments(a))
    for number in 0..<80 { try a.table("t").record(id(number))?.delete() }
    try a.sync()
    try await a.exchange()
    let lost = try #require(try bench.segments(a).first { !before.contains($0) })
    try a.compact()
    try bench.remove(bench.shared + "/" + lost)
    for _ in 0..<3 { try await a.exchange() }
    #expect(try bench.names(bench.shared, ".snap").count == 1)
  }

  @Test func `what is held outlasts compactions, and comes in with consent at once`() async throws {
    let b = try bench.open("b")
    try await deleter { _ in
      try await b.pull()
      #expect(try b.ids().count == 100)
    }
    #expect(try await b.exchange().fetchedSnapshot)
    #expect(try b.sync().massDelete?.records == 80)
    for number in 0..<2 {
      try b.add("own-\(number)")
      try b.compact()
      let waiting = try bench.names(bench.root("b") + "/p-notes/snap", ".tmp")
      #expect(waiting.count == 1, "it is still there")
    }
    #expect(try b.sync(allowingMassDelete: true).massDelete == nil)
    #expect(try b.ids().count == 22)
    // And goes when it is not needed any more.
    try b.compact()
    #expect(try bench.names(bench.root("b") + "/p-notes/snap", ".tmp") == [])
  }

  /// The commit before it may have begun one, and another download may be under way.
  @Test func `consent is not lost to a compaction that ends just before it is joined`()
    async throws
  {
    let look = Shared<(@Sendable (String) -> Void)?>(nil)
    var disk = ProbedDisk()
    disk.willOpen = { path in look.withLock { $0 }?(path) }
    var machine = Machine.real
    machine.disk = disk
    let folder = bench.folder
    let b = try DatastoreManager(
      root: bench.root("b"), account: Account(user: "ann", folder: .directory(folder)),
      folder: { DirectoryFolder(folder) }, options: bench.options, machine: machine
    ).openOrCreateDatastore(bench.id)
    try await deleter { _ in
      try await b.pull()
      #expect(try b.ids().count == 100)
    }
    #expect(try await b.exchange().fetchedSnapshot)
    #expect(try b.sync().massDelete?.records == 80)
    let snapshots = bench.root("b") + "/p-notes/snap"
    let name = try #require(try bench.names(snapshots, ".tmp").first)
    let (store, isEnded) = (b.store, Flag())
    _ = store.incomingSnapshotPath()
    look.withLock { hook in
      hook = { path in
        // As a compaction ends.
        if path.hasSuffix("/snap/" + name), isEnded.raise() { store.sweep(keeping: 0) }
      }
    }
    let result = try b.sync(allowingMassDelete: true)
    #expect(isEnded.isUp)
    #expect(result.changes.count { $0.isDeleted } == 80)
    #expect(result.massDelete == nil && b.status.massDelete == nil)
    #expect(try b.ids().count == 20)
    #expect(try bench.names(snapshots, ".tmp") == [])
  }
}
