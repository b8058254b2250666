import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Names of which the system does not say what they stand for, as a drive with a damaged directory
/// has them: they keep nothing else from coming and going.
@Suite struct UnreadNameTests {
  private let bench: FolderWorkbench
  private let unread = Shared<Set<String>>([])

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  private func manager(_ device: String) -> DatastoreManager {
    let path = bench.folder
    let machine = Machine(
      disk: UnreadDisk(unread: unread), clock: SystemClock(), random: SystemRandom())
    return DatastoreManager(
      root: bench.root(device), account: Account(user: "ann", folder: .directory(path)),
      folder: { DirectoryFolder(path, machine: machine) }, options: bench.options,
      machine: machine)
  }

  private func open(_ device: String) throws -> Datastore {
    try manager(device).openOrCreateDatastore(bench.id)
  }

  @Test func `such a file of somebody else's in the folder is ignored as others are`()
    async throws
  {
    _ = try await bench.publisher("a")
    try bench.write(bench.shared + "/zzz", [1])
    _ = unread.exchange(["zzz"])
    let b = try open("b")
    for _ in 0..<3 {
      let report = try await b.pull()
      #expect(report.complaints == [] && report.ignoredFiles == 1)
    }
    #expect(try b.ids() == ["a"])
    try b.add("b")
    #expect(try await b.exchange().publishedDeltas == 1)
  }

  @Test(arguments: ["head", "segment"])
  func `such a file of another device is waited for`(kind: String) async throws {
    let a = try await bench.publisher("a")
    _ = try await bench.publisher("c")
    let name = kind == "head" ? bench.head(a) : try bench.segment(a)
    _ = unread.exchange([name])
    let b = try open("b")
    for _ in 0..<3 {
      let report = try await b.pull()
      #expect(report.waiting.map(\.name) == [name] && report.problems == [])
    }
    #expect(try b.ids() == ["c"])
    _ = unread.exchange([])
    #expect(try await b.pull().complaints == [])
    #expect(try b.ids() == ["a", "c"])
  }

  /// It is not lost, and to write it again would make two of it.
  @Test func `such an own file is neither written again nor removed`() async throws {
    let a = try open("a")
    try a.add("a")
    try await a.exchange()
    let name = try bench.segment(a)
    let before = try #require(try PosixDisk().info(bench.shared + "/" + name))
    _ = unread.exchange([name])
    for _ in 0..<5 { _ = try await a.exchange() }
    #expect(try bench.segments(a) == [name])
    #expect(try PosixDisk().info(bench.shared + "/" + name) == before)
    _ = unread.exchange([])
    #expect(try await a.exchange().complaints == [])
  }

  @Test func `a listing tells of it as of what is not here now`() async throws {
    try bench.makeDirectory(bench.folder + "/d")
    for name in ["a", "b", ".b.icloud", "c"] { try bench.write(bench.folder + "/d/" + name, [1]) }
    let machine = Machine(
      disk: UnreadDisk(unread: unread), clock: SystemClock(), random: SystemRandom())
    let folder = DirectoryFolder(bench.folder, machine: machine)
    let all = try await folder.list("d")
    #expect(all.allSatisfy(\.isPresent) && all.count == 4)
    _ = unread.exchange(["b"])
    for _ in 0..<2 {
      let entries = try await folder.list("d")
      #expect(entries.map(\.name) == [".b.icloud", "a", "b", "c"])
      #expect(entries.map(\.isPresent) == [true, true, false, true])
    }
    _ = unread.exchange([])
    #expect(try await folder.listBriefly("d") == all)
  }

  @Test func `a placeholder that has such a name stands for its file`() async throws {
    try bench.makeDirectory(bench.folder + "/d")
    for name in ["a", ".a.icloud", ".b.icloud", "c"] {
      try bench.write(bench.folder + "/d/" + name, [1])
    }
    _ = unread.exchange([".a.icloud", ".b.icloud"])
    let machine = Machine(
      disk: UnreadDisk(unread: unread), clock: SystemClock(), random: SystemRandom())
    let entries = try await DirectoryFolder(bench.folder, machine: machine).list("d")
    #expect(entries.map(\.name) == ["a", "b", "c"])
    #expect(entries.map(\.isPresent) == [true, false, true])
  }

  @Test func `in the root and in the inbox only names that count are looked at`() async throws {
    _ = try await bench.publisher("a")
    var b = try open("b")
    #expect(try await b.exchange().fetchedDeltas == 1)
    try b.close()
    let inbox = bench.root("b") + "/p-" + bench.id + "/inbox"
    try #require(try bench.names(inbox, ".seg").count == 1)
    for directory in [bench.root("b"), inbox] { try bench.write(directory + "/zzz", [1]) }
    _ = unread.exchange(["zzz"])
    let manager = manager("b")
    #expect(try manager.listDatastores().map(\.id) == [bench.id])
    b = try manager.openDatastore(bench.id)
    try b.sync()
    #expect(try b.ids() == ["a"])
    #expect(try await b.exchange().complaints == [])
    try await manager.refresh()
  }
}
