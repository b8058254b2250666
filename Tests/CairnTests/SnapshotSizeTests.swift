import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Folders that know no parts of files, and a snapshot that is too large for them.
@Suite struct SnapshotSizeTests {
  private let bench: FolderWorkbench
  private let hook = HookedFolder.Switch()

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    // Due whenever there is one.
    bench.options.tuning.smallFileBytes = 0
  }

  /// Each request of that kind for a snapshot fails from now on; which ones there were.
  private func refuse(
    _ kind: HookedFolder.Request, _ code: CairnError.Code = .sizeLimit
  ) -> Told<String> {
    let told = Told<String>()
    hook.set { request, path throws(CairnError) in
      guard request == kind, path.hasSuffix(".snap") else { return }
      told.add(path)
      throw CairnError(code, "\(path) is too large", file: path)
    }
    return told
  }

  @Test(arguments: [CairnError.Code.diskSpace, .fileIO, .quota, .server])
  func `what the folder does not take now holds up nothing, and is tried ever more seldom`(
    code: CairnError.Code
  ) async throws {
    let a = try bench.open("a", hook)
    try a.add("a")
    try a.sync()
    try a.compact()
    let asked = refuse(.write, code)
    let report = try await a.exchange()
    #expect(report.publishedDeltas == 1 && !report.publishedSnapshot)
    #expect(report.problems.map(\.reason) == ["\(asked.all[0]) is too large"])
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == a.ids())
    for _ in 0..<20 { _ = try await a.exchange() }
    #expect((2..<10).contains(asked.all.count), "\(asked.all.count)")
    hook.set(nil)
    var isPublished = false
    for _ in 0..<20 { isPublished = try await a.exchange().publishedSnapshot || isPublished }
    #expect(isPublished)
  }

  @Test func `what the folder can't write is tried once, said, and holds up nothing`() async throws
  {
    let a = try bench.open("a", hook)
    try a.add("a")
    try a.sync()
    try a.compact()
    let asked = refuse(.write)
    let report = try await a.exchange()
    #expect(report.publishedDeltas == 1 && !report.publishedSnapshot)
    #expect(report.problems.map(\.reason) == [
      "\(asked.all[0]) is too large; new devices fetch all deltas instead"
    ])
    try a.add("later")
    let next = try await a.exchange()
    #expect(next.publishedDeltas == 1 && next.problems.isEmpty)
    #expect(asked.all.count == 1)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == a.ids())
    // Another process may have another folder, with parts.
    hook.set(nil)
    try a.close()
    let again = try bench.open("a", hook)
    #expect(try await again.exchange().publishedSnapshot)
  }

  @Test func `what the folder can't read is taken from the deltas`() async throws {
    let a = try await bench.publisher("a")
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let asked = refuse(.read)
    let b = try bench.open("b", hook)
    let report = try await b.pull()
    #expect(!report.fetchedSnapshot && report.fetchedDeltas > 0)
    #expect(report.problems.map(\.reason) == [
      "\(asked.all[0]) is too large; all deltas are fetched instead"
    ])
    #expect(try b.ids() == a.ids())
    _ = try await b.exchange()
    #expect(asked.all.count == 1)
  }

  @Test func `a repair does not call damaged what it can't read`() async throws {
    let a = try bench.open("a", hook)
    try a.add("a")
    try a.sync()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let name = try #require(try bench.names(bench.shared, ".snap").first)
    _ = refuse(.read)
    let repair = try await a.repairFolder()
    #expect(repair.unread == [name] && repair.damaged.isEmpty && repair.missing.isEmpty)
    #expect(!repair.publishedSnapshot)
  }
}
