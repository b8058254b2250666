import Cairn
import CairnLog
import TestSupport
import Testing

/// How much a check of every byte says that it has read.
@Suite struct InspectorCountTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    bench.options.compactsAutomatically = false
  }

  /// A device with a snapshot, a log behind it, contents of attachments, a record in the trash, and
  /// a fetched file that waits.
  private func prepare() async throws {
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try a.addPhoto("s", sample(2))
    try await a.exchange()
    let b = try bench.open("b")
    try await b.pullAll()
    try b.compact()
    try b.add("mine")
    try await b.exchange()
    try a.table("t").record("r")?.delete()
    try a.sync()
    try await a.exchange()
    try await b.pull()
    try a.add("more")
    try await a.exchange()
    try await b.exchange()
    try b.close()
  }

  @Test func `all files and their bytes are counted, each once`() async throws {
    try await prepare()
    let home = bench.root("b") + "/p-" + bench.id
    var files = [home + "/" + FileName.publication]
    let kinds = [
      (FileName.log, ".seg"), (FileName.snapshots, ".snap"), (FileName.inbox, ".seg"),
      (FileName.blobs, ".blob"), (FileName.trash, ".del"),
    ]
    for (directory, suffix) in kinds {
      let names = try bench.names(home + "/" + directory, suffix)
      try #require(!names.isEmpty, "\(directory)")
      files += names.map { home + "/" + directory + "/" + $0 }
    }
    let inspector = try DatastoreInspector(root: bench.root("b"), id: bench.id)
    defer { inspector.close() }
    let report = try inspector.verify()
    #expect(report.problems == [])
    #expect(report.files == files.count)
    let bytes = try files.map { try bench.read($0).count }.reduce(0, +)
    #expect(report.bytes == UInt64(bytes))
  }
}
