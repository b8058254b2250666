import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A folder that lets nobody remove anything: what is left there of a deleted datastore is in
/// nobody's way.
@Suite struct CatalogueRemovalTests {
  private let bench = CatalogueBench()
  private let hook = HookedFolder.Switch()

  /// Removals fail from now on, and are counted.
  private func refuse(_ code: CairnError.Code) -> Shared<Int> {
    let tries = Shared(0)
    hook.set { request, path throws(CairnError) in
      guard request == .remove else { return }
      tries.withLock { $0 += 1 }
      throw CairnError(code, "\(path) may not be removed", file: path)
    }
    return tries
  }

  /// One that has published a datastore and deleted it.
  private func deleter() async throws -> DatastoreManager {
    let a = bench.manager("a", hook)
    try await a.with("n") { try $0.add("a") }
    try await a.refresh()
    try a.deleteDatastore("n")
    return a
  }

  @Test func `what can't be removed keeps nobody from hearing of the rest`() async throws {
    let a = try await deleter()
    let tries = refuse(.auth)
    let b = bench.manager("b")
    try await b.with("m") { try $0.setTitle("title") }
    try await b.refresh()
    let told = Told<[String]>()
    let observation = a.observeDatastores(on: { $0() }) { told.add($0.map(\.id)) }
    let report = try await a.refresh()
    #expect(report.hasPublished && report.removedFiles == 0)
    #expect(!report.problems.isEmpty && tries.withLock { $0 } > 0)
    #expect(report.problems.allSatisfy { $0.name.hasPrefix("p-n/") })
    #expect(try a.ids() == ["m"])
    #expect(told.all.last == ["m"])
    // The others hear of the delete all the same.
    try await b.refresh()
    #expect(try b.ids() == ["m"])
    withExtendedLifetime(observation) {}
  }

  @Test func `it is tried ever more seldom, and goes when it may`() async throws {
    let a = try await deleter()
    let tries = refuse(.readOnly)
    var rounds: [Int] = []
    for round in 1...16 {
      let before = tries.withLock { $0 }
      let report = try await a.refresh()
      let isTried = tries.withLock { $0 } > before
      #expect(isTried != report.problems.isEmpty)
      if isTried { rounds.append(round) }
    }
    #expect(rounds == [1, 2, 4, 8, 16])
    let left = bench.files("/folder/p-n")
    #expect(left.contains { $0.hasSuffix(".head") }, "it says what is to be removed: \(left)")
    hook.set(nil)
    for _ in 0..<40 { try await a.refresh() }
    #expect(bench.files("/folder/p-n") == [])
    #expect(try await a.refresh().requests == 1)
  }

  @Test func `where an hour's budget is used up the rest waits without a word`() async throws {
    let a = try await deleter()
    let tries = refuse(.quota)
    #expect(try await a.refresh().problems == [])
    #expect(tries.withLock { $0 } == 1)
    hook.set(nil)
    #expect(try await a.refresh().removedFiles > 0)
    #expect(bench.files("/folder/p-n") == [])
  }

  /// Files of what was deleted may be all that takes the room.
  @Test func `in a full folder what others know to be deleted goes, and nothing else`()
    async throws
  {
    let (a, b) = (bench.manager("a"), bench.manager("b", hook))
    try await a.with("n") { try $0.add("a") }
    try await b.with("n") { try $0.add("b") }
    try await b.with("m") { try $0.add("b") }
    for _ in 0..<2 { for manager in [a, b] { try await manager.refresh() } }
    let untold = bench.files("/folder/p-m")
    try a.deleteDatastore("n")
    for _ in 0..<3 { try await a.refresh() }
    try #require(!untold.isEmpty && !bench.files("/folder/p-n").isEmpty)
    hook.fail([.write], .diskSpace)
    try b.deleteDatastore("m")
    for _ in 0..<4 { #expect(await b.refreshError()?.code == .diskSpace) }
    #expect(bench.files("/folder/p-n") == [])
    #expect(bench.files("/folder/p-m") == untold, "nobody has heard of that yet")
    hook.set(nil)
    #expect(try await b.refresh().hasPublished)
    try await b.refresh()
    #expect(bench.files("/folder/p-m") == [])
  }

  /// Copies in the trash of others may lack contents of its attachments, which stay for a month.
  @Test func `what stays for a month does so by a clock that was years ahead, too`() async throws {
    let day: Int64 = 24 * 3600 * 1000
    let a = bench.manager("a", hook)
    try await a.with("n") { _ = try $0.addPhoto("r", [1, 2, 3]) }
    func contents() -> Int {
      bench.files("/folder/b-p-n").count
    }
    try await a.refresh()
    #expect(contents() == 1)
    try a.deleteDatastore("n")
    let now = bench.clock.now()
    bench.clock.set(now + 5000 * day)
    for _ in 0..<4 { try await a.refresh() }
    #expect(contents() == 1)
    bench.clock.set(now)
    try await a.refresh()
    bench.clock.advance(by: 29 * day)
    for _ in 0..<4 { try await a.refresh() }
    #expect(contents() == 1)
    bench.clock.advance(by: 2 * day)
    for _ in 0..<4 { try await a.refresh() }
    #expect(contents() == 0)
  }

  @Test func `without a connection the round fails as ever`() async throws {
    let a = try await deleter()
    _ = refuse(.noConnection)
    #expect(await a.refreshError()?.code == .noConnection)
    #expect(try a.ids() == [])
  }
}
