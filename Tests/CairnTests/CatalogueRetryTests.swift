import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A bad file of the list may have been a bad download: it is read again, ever more seldom.
@Suite struct CatalogueRetryTests {
  private let bench = CatalogueBench()
  private let script = ScriptedFolder.Script()

  private var scripted: DatastoreManager {
    let machine = bench.machine
    return DatastoreManager(
      root: "/b", account: Account(user: "ann", folder: .directory("/folder")),
      folder: { [script] in
        ScriptedFolder(base: DirectoryFolder("/folder", machine: machine), script: script)
      }, options: bench.options, machine: machine)
  }

  /// Another installation's file, which tells of a datastore.
  private func publish() async throws -> String {
    let a = bench.manager("a")
    try await a.with("n") { try $0.setTitle("title") }
    try await a.refresh()
    return try #require(bench.catalogues.first)
  }

  private func isRead(_ path: String) -> Bool { path.hasSuffix(".cat") }

  @Test(arguments: ["damaged", "half"])
  func `a file of the list that came in badly is read again in the next round`(
    kind: String
  ) async throws {
    let name = try await publish()
    let b = scripted
    script.read { path, bytes in
      guard path.hasSuffix(".cat"), let bytes else { return bytes }
      return kind == "half" ? [UInt8](bytes.prefix(20)) : bytes.flipped(at: 70)
    }
    let report = try await b.refresh()
    #expect(report.waiting.map(\.name) == (kind == "half" ? [name] : []))
    #expect(report.problems.map(\.name) == (kind == "half" ? [] : [name]))
    #expect(try b.ids() == [])
    script.read(nil)
    let next = try await b.refresh()
    #expect(next.waiting == [] && next.problems == [])
    #expect(try b.listDatastores().map(\.title) == ["title"])
    // It is known now.
    let reads = script.reads.count
    try await b.refresh()
    #expect(script.reads.count == reads)
  }

  @Test func `a file of the list that stays bad is read ever more seldom, until it is good`()
    async throws
  {
    let name = try await publish()
    let b = scripted
    let bad = Shared(5)
    script.read { path, bytes in
      guard path.hasSuffix(".cat") else { return bytes }
      let isBad = bad.withLock { left in
        left -= 1
        return left >= 0
      }
      return isBad ? bytes.map { $0.flipped(at: 70) } : bytes
    }
    var rounds: [Int] = []
    for round in 1...32 {
      let before = script.reads.filter(isRead).count
      #expect(try b.ids() == [])
      let report = try await b.refresh()
      #expect(report.problems.map(\.name) == (round < 32 ? [name] : []))
      if script.reads.filter(isRead).count > before { rounds.append(round) }
    }
    #expect(rounds == [1, 2, 4, 8, 16, 32])
    #expect(try b.ids() == ["n"])
  }

  /// Two may have made the folder at once: whoever has read the identity that lost takes the
  /// others' files for another folder's, until it has looked again.
  @Test func `a file that another identity of the folder had refused is read again`() async throws {
    _ = try await publish()
    let right = try #require(bench.disk.bytes("/folder/cairn.json"))
    try bench.disk.setBytes("/folder/cairn.json", FolderIdentity.encode(7))
    let b = bench.manager("b")
    #expect(try await b.refresh().problems.count == 1)
    #expect(try b.ids() == [])
    try bench.disk.setBytes("/folder/cairn.json", right)
    #expect(try await b.refresh().problems == [])
    #expect(try b.ids() == ["n"])
  }

  /// Those who have lost see no file of the one that has won, which has nothing to say.
  @Test(arguments: [["a"], ["a", "c"]])
  func `who has lost an identity to another founder's notices while it runs`(
    losers: [String]
  ) async throws {
    let managers = losers.map { bench.manager($0) }
    for (manager, id) in zip(managers, losers) { try await manager.with(id) }
    for manager in managers { try await manager.refresh() }
    try bench.disk.setBytes("/folder/cairn.json", FolderIdentity.encode(7))
    let b = bench.manager("b")
    var rounds = 0
    while try b.ids() != losers {
      try #require(rounds < (losers.count == 1 ? 8 : 66))
      rounds += 1
      for manager in managers + [b] { try await manager.refresh() }
    }
    #expect(bench.disk.bytes("/folder/cairn.json") == FolderIdentity.encode(7))
    #expect(bench.catalogues.count == losers.count)
  }

  @Test(arguments: [(false, 8), (true, 64)])
  func `an identity is looked at ever more seldom`(isInCompany: Bool, every: Int) async throws {
    let (a, c) = (bench.manager("a"), bench.manager("c"))
    try await a.with("a")
    if isInCompany { try await c.with("c") }
    for manager in [a, c] { try await manager.refresh() }
    var looks: [Int] = []
    for round in 1...192 {
      let report = try await a.refresh()
      if report.isIdle, report.requests == 2 { looks.append(round) }
    }
    #expect(zip(looks, looks.dropFirst()).suffix(2).allSatisfy { $1 - $0 == every })
    #expect(looks.count == (isInCompany ? 3 : 27), "\(looks)")
  }

  @Test func `an identity that can't be read later, or is gone, changes nothing`() async throws {
    let a = bench.manager("a")
    try await a.with("n")
    try await a.refresh()
    let right = try #require(bench.disk.bytes("/folder/cairn.json"))
    for bytes in [[], Array(right.dropLast(9)), Array("{}".utf8)] {
      try bench.disk.setBytes("/folder/cairn.json", bytes)
      for _ in 0..<10 { try await a.refresh() }
    }
    try bench.disk.remove("/folder/cairn.json")
    for _ in 0..<10 { try await a.refresh() }
    #expect(try a.ids() == ["n"])
  }

  /// Its own file is not there: somebody has put another folder in the place of this one.
  @Test func `another folder that takes the place of the own one is told`() async throws {
    let a = bench.manager("a")
    try await a.with("n")
    try await a.refresh()
    for file in bench.catalogues { try bench.disk.remove("/folder/catalogue/" + file) }
    for file in bench.files("/folder/p-n") { try bench.disk.remove("/folder/p-n/" + file) }
    try bench.disk.setBytes("/folder/cairn.json", FolderIdentity.encode(7))
    for _ in 0..<3 { #expect(await a.refreshError()?.code == .disallowed) }
    #expect(bench.catalogues == [] && bench.files("/folder/p-n") == [])
    #expect(try a.ids() == ["n"])
  }

  @Test func `an older file of an installation that comes back says nothing`() async throws {
    let name = try await publish()
    let path = "/folder/catalogue/" + name
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await b.refresh()
    let old = try #require(bench.disk.bytes(path))
    try await a.with("n") { try $0.setTitle("newer") }
    try a.deleteDatastore("n")
    try await a.with("m")
    try await a.refresh()
    bench.clock.advance(by: 5)
    try await b.refresh()
    #expect(try b.ids() == ["m"])
    bench.clock.advance(by: 5)
    try bench.disk.setBytes(path, old)
    for _ in 0..<2 {
      let report = try await b.refresh()
      #expect(report.problems == [] && report.deleted == [])
      #expect(try b.ids() == ["m"])
    }
  }

  @Test func `a round waits for that of another process on the same root`() async throws {
    let a = bench.manager("a")
    try await a.with("n")
    let lock = try bench.disk.lock("/a/EXCHANGE.LOCK")
    let tries = Shared(0)
    bench.disk.intercept { operation in
      let isTry = operation.verb == "lock" && operation.path == "/a/EXCHANGE.LOCK"
      if isTry { tries.withLock { $0 += 1 } }
      return nil
    }
    // The other process. Not a task: it must not wait for its turn among all the other tests'.
    let (disk, before) = (bench.disk, Shared<[String]>([]))
    let other = BackgroundThread {
      while tries.withLock({ $0 }) < 2 { Pause.brief() }
      _ = before.exchange(disk.paths().filter { $0.hasPrefix("/folder/catalogue/") })
      lock.unlock()
    }
    #expect(try await a.refresh().hasPublished)
    other?.join()
    #expect(before.exchange([]) == [], "nothing is written while another one may be writing")
    #expect(bench.catalogues.count == 1)
  }
}
