import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A folder says what it has kept of a file, and that counts.
@Suite struct UploadTests {
  /// A directory that keeps only the beginning of the first file with a suffix.
  private struct ShortFolder: Folder {
    let base: DirectoryFolder
    let suffix: Shared<String?>

    func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
      try await base.list(directory)
    }

    func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
      try await base.read(path, limit: limit)
    }

    func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
      let cuts = suffix.withLock { suffix in
        guard let ending = suffix, path.hasSuffix(ending) else { return false }
        suffix = nil
        return true
      }
      return try await base.write(path, cuts ? [UInt8](bytes.dropLast(9)) : bytes)
    }

    func remove(_ path: String) async throws(CairnError) { try await base.remove(path) }
  }

  private let bench: FolderWorkbench
  private let short = Shared<String?>(nil)

  init() throws { bench = try FolderWorkbench() }

  /// A device whose uploads may be cut.
  private func manager(_ device: String) -> DatastoreManager {
    let path = bench.folder
    let short = short
    return DatastoreManager(
      root: bench.root(device), account: Account(user: "ann", folder: .directory(path)),
      folder: { ShortFolder(base: DirectoryFolder(path), suffix: short) },
      options: bench.options, machine: .real)
  }

  @Test(arguments: [".seg", ".head", ".blob"])
  func `what was kept in part is an error, and the next round writes it again`(
    suffix: String
  ) async throws {
    let a = try manager("a").openOrCreateDatastore(bench.id)
    try a.add("before")
    try await a.exchange()
    let b = try bench.open("b")
    try await b.pull()
    short.withLock { $0 = suffix }
    try a.addPhoto("cut", sample(1))
    #expect(await a.exchangeError()?.code == .response)
    #expect(short.withLock { $0 } == nil)
    try await b.pull()
    #expect(try b.ids() == ["before"])
    try await a.exchange()
    let report = try await b.pull()
    #expect(try b.ids() == ["before", "cut"])
    #expect(report.complaints.isEmpty)
    try await b.pull()
    #expect(try b.content(of: "cut") == sample(1))
  }

  @Test func `so it is with the list of datastores`() async throws {
    let a = manager("a")
    let datastore = try a.openOrCreateDatastore(bench.id)
    try datastore.add("x")
    try await datastore.exchange()
    try datastore.close()
    short.withLock { $0 = ".cat" }
    #expect(await a.refreshError()?.code == .response)
    #expect(short.withLock { $0 } == nil)
    let b = try bench.manager("b")
    try await b.refresh()
    #expect(try b.ids() == [])
    #expect(try await a.refresh().hasPublished)
    let report = try await b.refresh()
    #expect(report.problems.isEmpty && report.waiting.isEmpty)
    #expect(try b.ids() == [bench.id])
  }
}
