import CairnDisk
import CairnLog
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Half a cairn.json is as good as none yet: it must not make the folder unusable for everybody.
@Suite struct HalfIdentityTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  private var file: String { bench.folder + "/cairn.json" }

  /// A directory that keeps only the beginning of the first cairn.json.
  private struct ShortFolder: Folder {
    let base: DirectoryFolder
    let isShort: Shared<Bool>

    func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
      try await base.list(directory)
    }

    func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
      try await base.read(path, limit: limit)
    }

    func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
      let cuts = isShort.withLock { isShort in
        defer { if path == FileName.folderIdentity { isShort = false } }
        return isShort && path == FileName.folderIdentity
      }
      return try await base.write(path, cuts ? [UInt8](bytes.prefix(30)) : bytes)
    }

    func remove(_ path: String) async throws(CairnError) { try await base.remove(path) }
  }

  private func shortManager(_ device: String) throws -> DatastoreManager {
    let (path, isShort) = (bench.folder, Shared(true))
    return DatastoreManager(
      root: bench.root(device), account: Account(user: "ann", folder: .directory(path)),
      folder: { ShortFolder(base: DirectoryFolder(path), isShort: isShort) },
      options: bench.options, machine: .real)
  }

  @Test func `a folder that keeps a part of it is an error, and the next round writes it again`()
    async throws
  {
    let a = try shortManager("a").openOrCreateDatastore(bench.id)
    try a.add("a")
    #expect(await a.exchangeError()?.code == .response)
    #expect(try bench.read(file).count == 30)
    #expect(await a.exchangeError() == nil)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == ["a"])
  }

  @Test func `the same for the list of datastores`() async throws {
    let a = try shortManager("a")
    #expect(await a.refreshError()?.code == .response)
    #expect(await a.refreshError() == nil)
    #expect(try await bench.manager("b").refreshError() == nil)
  }

  @Test(arguments: [0, 20, 60, 100])
  func `a new device waits, and one that knows the folder writes it again as it was`(
    length: Int
  ) async throws {
    var a = try await bench.publisher("a")
    let whole = try bench.read(file)
    try bench.write(file, [UInt8](whole.prefix(length)))
    let b = try bench.open("b")
    for _ in 0..<6 { #expect(await b.exchangeError()?.code == .retryLater) }
    #expect(try bench.read(file).count == length)
    try a.close()
    a = try bench.open("a")
    try await a.exchange()
    #expect(try bench.read(file) == whole)
    try await b.pull()
    #expect(try b.ids() == ["a"])
  }

  @Test(arguments: [0, 20, 60, 100])
  func `one whose list knows the folder writes it again, too`(length: Int) async throws {
    #expect(try await bench.manager("a").refreshError() == nil)
    try await bench.manager("a").with("x")
    #expect(try await bench.manager("a").refreshError() == nil)
    let whole = try bench.read(file)
    try bench.write(file, [UInt8](whole.prefix(length)))
    let b = try bench.manager("b")
    for _ in 0..<6 { #expect(await b.refreshError()?.code == .retryLater) }
    #expect(try await bench.manager("a").refreshError() == nil)
    #expect(try bench.read(file) == whole)
    #expect(await b.refreshError() == nil)
  }

  @Test func `one that nobody knows and that stays half is replaced after three rounds`()
    async throws
  {
    try bench.makeDirectory(bench.folder)
    let half = [UInt8](FolderIdentity.encode(7).prefix(50))
    try bench.write(file, half)
    let (a, list) = (try bench.open("a"), try bench.manager("list"))
    try a.add("a")
    for _ in 0..<3 {
      #expect(await a.exchangeError()?.code == .retryLater)
      #expect(await list.refreshError()?.code == .retryLater)
      #expect(try bench.read(file) == half)
    }
    #expect(await a.exchangeError() == nil)
    #expect(await list.refreshError() == nil)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == ["a"])
    // And by the list, where it comes first.
    try bench.remove(bench.folder)
    try bench.makeDirectory(bench.folder)
    try bench.write(file, half)
    let other = try bench.manager("other")
    for _ in 0..<3 { #expect(await other.refreshError()?.code == .retryLater) }
    #expect(await other.refreshError() == nil)
    #expect(try FolderIdentity.decode(try bench.read(file), path: file) != 7)
  }

  /// Two devices had made the folder at once, and the other one's file won after half of our own
  /// list had arrived.
  @Test(arguments: [10, 40, 60])
  func `half of the own list still tells that the folder is ours`(length: Int) async throws {
    try await bench.manager("a").with("x")
    #expect(try await bench.manager("a").refreshError() == nil)
    let directory = bench.folder + "/" + FileName.catalogue
    let name = try #require(try bench.names(directory).first)
    let own = directory + "/" + name
    try bench.write(own, [UInt8](try bench.read(own).prefix(length)))
    try bench.write(file, FolderIdentity.encode(7))
    #expect(try await bench.manager("a").refreshError() == nil)
    let b = try bench.manager("b")
    #expect(await b.refreshError() == nil)
    #expect(try b.listDatastores().map(\.id).contains("x"))
    #expect(try FolderIdentity.decode(try bench.read(file), path: file) == 7)
  }

  @Test func `what is none of ours, or of another folder, is never replaced`() async throws {
    let a = try await bench.publisher("a")
    try a.close()
    let other = bench.place.path + "/other"
    try bench.makeDirectory(other)
    let half = [UInt8](FolderIdentity.encode(7).prefix(60))
    try bench.write(other + "/cairn.json", half)
    let moved = try bench.open("a", folder: other)
    for _ in 0..<6 { #expect(await moved.exchangeError()?.code == .retryLater) }
    #expect(try bench.read(other + "/cairn.json") == half)
    let foreign = Array("{\"name\": \"a cairn of ours\"".utf8)
    try bench.write(other + "/cairn.json", foreign)
    let new = try bench.open("new", folder: other)
    for _ in 0..<6 { #expect(await new.exchangeError()?.code == .corrupt) }
    #expect(try bench.read(other + "/cairn.json") == foreign)
  }

  @Test func `the list does not write over the beginning of another folder's either`()
    async throws
  {
    try await bench.manager("a").with("x")
    #expect(try await bench.manager("a").refreshError() == nil)
    let other = bench.place.path + "/other"
    try bench.makeDirectory(other)
    let half = [UInt8](FolderIdentity.encode(7).prefix(60))
    try bench.write(other + "/cairn.json", half)
    let moved = try bench.manager("a", folder: other)
    for _ in 0..<6 { #expect(await moved.refreshError()?.code == .retryLater) }
    #expect(try bench.read(other + "/cairn.json") == half)
  }

  @Test func `for the list its own beginning suffices where nothing else of the folder is there`()
    async throws
  {
    try await bench.manager("a").with("x")
    #expect(try await bench.manager("a").refreshError() == nil)
    let whole = try bench.read(file)
    try bench.remove(bench.folder)
    try bench.makeDirectory(bench.folder)
    try bench.write(file, [UInt8](whole.prefix(60)))
    #expect(try await bench.manager("a").refreshError() == nil)
    #expect(try bench.read(file) == whole)
  }
}
