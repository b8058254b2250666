import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// A snapshot that comes in parts, and what happens to its beginning meanwhile.
@Suite struct SnapshotDownloadTests {
  private let bench: FolderWorkbench
  private let hook = HookedFolder.Switch()

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  /// A device that has something, and of a snapshot of two parts the first.
  private func begun() async throws -> (a: Datastore, b: Datastore) {
    let a = try bench.open("a")
    let (path, hook) = (bench.folder, hook)
    let b = try DatastoreManager(
      root: bench.root("b"), account: Account(user: "ann", folder: .directory(path)),
      folder: {
        PartedFolder(base: DirectoryFolder(path), size: Exchange.snapshotPartBytes) {
          start throws(CairnError) in try hook.run(.read, "\(start)")
        }
      }, options: bench.options,
      machine: .real
    ).openOrCreateDatastore(bench.id)
    try await a.pull()
    try b.add("mine")
    try await b.exchange()
    let random = SeededRandom(1)
    for round in 0..<4 {
      for number in 0..<60 {
        let (id, bytes) = (RecordID("big\(number)"), Value.bytes(random.bytes(80_000)))
        if round > 0 {
          try a.table("t")[id].set("bytes", bytes)
        } else {
          try a.table("t").insert(["bytes": bytes], id: id)
        }
        if number % 20 == 19 { try a.sync() }
      }
      try a.sync()
      try await a.exchange()
    }
    try a.compact()
    try await a.exchange()
    // It may also have been compacted, and published, by itself.
    #expect(try bench.names(bench.shared).contains { FileName.sharedSnapshot($0) != nil })
    hook.set { _, start throws(CairnError) in
      if start != "0" { throw CairnError(.network, "the connection broke") }
    }
    #expect(await b.exchangeError()?.code == .network)
    #expect(try parts().count == 1)
    return (a, b)
  }

  /// Files in which a snapshot is on its way.
  private func parts() throws -> [String] {
    let directory = bench.root("b") + "/p-\(bench.id)/" + FileName.snapshots
    return try bench.names(directory).filter(FileName.isTemporary).map { directory + "/" + $0 }
  }

  @Test func `a compaction leaves what has come of a snapshot`() async throws {
    let (a, b) = try await begun()
    try b.add("more")
    try b.compact()
    #expect(try parts().count == 1)
    let starts = Told<String>()
    hook.set { _, start in starts.add(start) }
    #expect(try await b.pull().fetchedSnapshot)
    // Nothing of it came twice.
    #expect(starts.all == ["\(Exchange.snapshotPartBytes)"])
    #expect(try parts() == [])
    #expect(try b.ids().count == 62)
    try a.close()
  }

  @Test func `what has come of a snapshot goes once all of it has come in deltas`() async throws {
    // A compaction of its own would have such a file, too.
    bench.options.compactsAutomatically = false
    let (a, b) = try await begun()
    // The rest of it never comes.
    for _ in 0..<4 { _ = await b.exchangeError() }
    try b.sync()
    #expect(try b.ids().count == 61)
    hook.set(nil)
    #expect(try await !b.exchange().fetchedSnapshot)
    #expect(try parts() == [])
    try a.close()
    try b.close()
  }

  @Test(arguments: [CairnError.Code.deleted, .shutdown, .closed])
  func `a datastore that ends meanwhile says nothing of the folder`(
    _ ending: CairnError.Code
  ) async throws {
    let (a, b) = try await begun()
    let condition = try #require(b.exchanger?.condition)
    hook.set { _, _ in
      switch ending {
      case .deleted: b.markDeleted()
      case .shutdown: try? b.manager.shutDown()
      default: try? b.close()
      }
    }
    #expect(await b.exchangeError()?.code == ending)
    // It has answered all the time.
    #expect(condition.current.isAnswering)
    try a.close()
  }

  @Test func `a snapshot of which the beginning is gone is fetched anew`() async throws {
    let (a, b) = try await begun()
    for path in try parts() { try bench.remove(path) }
    let starts = Told<String>()
    hook.set { _, start in starts.add(start) }
    try b.add("more")
    let report = try await b.pull()
    #expect(report.fetchedSnapshot && report.complaints == [] && report.publishedDeltas == 1)
    let part = "\(Exchange.snapshotPartBytes)"
    #expect(starts.all == [part, "0", part])
    #expect(try b.ids().count == 62)
    try await a.pull()
    #expect(try a.ids() == b.ids())
  }
}
