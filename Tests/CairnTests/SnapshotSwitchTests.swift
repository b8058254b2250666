import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// The folder has another snapshot before all of the first one is here.
@Suite struct SnapshotSwitchTests {
  private let bench: FolderWorkbench
  private let hook = HookedFolder.Switch()

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    // Due whenever as much has come as the last one has.
    bench.options.tuning.smallFileBytes = 0
  }

  private func publishSnapshot(of a: Datastore, _ id: RecordID, _ count: Int) async throws {
    // As many deltas as are larger than what is there in the end.
    let record = try a.table("t").insert([:], id: id)
    for part in 0..<count {
      try record.set("bytes", .bytes(sample(UInt64(part), 50_000)))
      try a.sync()
    }
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
  }

  /// A device whose folder gives files in parts of 10 kB.
  private func parted(_ device: String) throws -> Datastore {
    let (path, hook) = (bench.folder, hook)
    return try DatastoreManager(
      root: bench.root(device), account: Account(user: "ann", folder: .directory(path)),
      folder: {
        PartedFolder(base: DirectoryFolder(path), size: 10_000) { start throws(CairnError) in
          try hook.run(.read, "\(start)")
        }
      }, options: bench.options, machine: .real
    ).openOrCreateDatastore(bench.id)
  }

  /// Files in which a snapshot is on its way.
  private func parts(_ device: String) throws -> [String] {
    try bench.names(bench.root(device) + "/p-\(bench.id)/" + FileName.snapshots)
      .filter(FileName.isTemporary)
  }

  @Test func `the part of one that nobody wants any more does not stay`() async throws {
    let a = try bench.open("a")
    try await publishSnapshot(of: a, "small", 1)
    let b = try parted("b")
    hook.set { _, start throws(CairnError) in
      if start != "0" { throw CairnError(.network, "the connection broke") }
    }
    #expect(await b.exchangeError()?.code == .network)
    let first = try parts("b")
    #expect(first.count == 1)
    try await publishSnapshot(of: a, "large", 6)
    #expect(await b.exchangeError()?.code == .network)
    let second = try parts("b")
    #expect(second.count == 1 && second != first)
    let starts = Told<String>()
    hook.set { _, start in starts.add(start) }
    #expect(try await b.pull().fetchedSnapshot)
    #expect(starts.all.first == "10000", "what has come of the second one is gone on with")
    #expect(try parts("b") == [])
    #expect(try b.ids() == ["small", "large"])
  }
}
