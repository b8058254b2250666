import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A folder that is in use and has no cairn.json: a sync engine delivers files in any order, and
/// whoever comes first must not make a folder of his own in it.
@Suite struct FolderArrivalTests {
  private static let file = "/folder/cairn.json"

  @Test func `a new root founds nothing in a folder that is still arriving`() async throws {
    let bench = CatalogueBench()
    try await bench.manager("a").with("x")
    #expect(await bench.manager("a").refreshError() == nil)
    let identity = try #require(bench.disk.bytes(Self.file))
    try bench.disk.remove(Self.file)
    let files = bench.files("/folder")
    let b = bench.manager("b")
    for _ in 0..<6 {
      let error = await b.refreshError()
      #expect(error?.code == .retryLater && error?.file == "cairn.json")
    }
    #expect(bench.files("/folder") == files)
    try bench.disk.setBytes(Self.file, identity)
    #expect(await b.refreshError() == nil)
    #expect(try b.ids() == ["x"])
    #expect(bench.disk.bytes(Self.file) == identity)
  }

  @Test func `one that is lost is written anew after ten minutes of rounds`() async throws {
    let bench = CatalogueBench()
    try await bench.manager("a").with("x")
    #expect(await bench.manager("a").refreshError() == nil)
    try bench.disk.remove(Self.file)
    let b = bench.manager("b")
    for _ in 0..<10 {
      #expect(await b.refreshError()?.code == .retryLater)
      bench.clock.advance(by: 60_000)
    }
    #expect(bench.disk.bytes(Self.file) == nil)
    #expect(await b.refreshError() == nil)
    #expect(bench.disk.bytes(Self.file) != nil)
    // Whoever was there before sees by its own file that it is the same folder.
    #expect(await bench.manager("a").refreshError() == nil)
  }

  @Test func `neither time alone is enough nor a clock that is put back`() async throws {
    let bench = CatalogueBench()
    try await bench.manager("a").with("x")
    #expect(await bench.manager("a").refreshError() == nil)
    try bench.disk.remove(Self.file)
    let b = bench.manager("b")
    #expect(await b.refreshError()?.code == .retryLater)
    bench.clock.advance(by: 86_400_000)
    for _ in 0..<2 { #expect(await b.refreshError()?.code == .retryLater) }
    bench.clock.advance(by: -2 * 86_400_000)
    for _ in 0..<3 { #expect(await b.refreshError()?.code == .retryLater) }
    bench.clock.advance(by: 200_000)
    #expect(await b.refreshError()?.code == .retryLater)
    bench.clock.advance(by: 200_000)
    #expect(await b.refreshError() == nil)
  }

  /// What sleeps fetches nothing: the sync engine has had no time for it either.
  @Test func `a device that slept has not waited, and takes what comes after it woke`()
    async throws
  {
    let bench = CatalogueBench()
    try await bench.manager("a").with("x")
    #expect(await bench.manager("a").refreshError() == nil)
    let identity = try #require(bench.disk.bytes(Self.file))
    try bench.disk.remove(Self.file)
    let b = bench.manager("b")
    for _ in 0..<4 { #expect(await b.refreshError()?.code == .retryLater) }
    bench.clock.advance(by: 86_400_000)
    for _ in 0..<4 { #expect(await b.refreshError()?.code == .retryLater) }
    #expect(bench.disk.bytes(Self.file) == nil)
    try bench.disk.setBytes(Self.file, identity)
    #expect(await b.refreshError() == nil)
    #expect(try b.ids() == ["x"])
    #expect(bench.disk.bytes(Self.file) == identity)
  }

  @Test func `a datastore's exchange waits as long`() async throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    try a.add("a")
    try await a.exchange()
    try bench.folder.remove(Self.file)
    let b = try bench.open("b")
    try b.add("b")
    for _ in 0..<6 {
      let error = await b.exchangeError()
      #expect(error?.code == .retryLater && error?.file == "cairn.json")
    }
    for _ in 0..<2 {
      bench.clock.advance(by: 200_000)
      #expect(await b.exchangeError()?.code == .retryLater)
    }
    #expect(bench.folder.bytes(Self.file) == nil)
    bench.clock.advance(by: 200_000)
    #expect(await b.exchangeError() == nil)
    #expect(bench.folder.bytes(Self.file) != nil)
    #expect(try await bench.settle([a, b]))
    try bench.expectEqual([a, b])
    #expect(try b.ids() == ["a", "b"])
  }

  /// The list of an account is there, and nothing of the datastore yet.
  @Test func `so it does where only the list has arrived`() async throws {
    let bench = CatalogueBench()
    try await bench.manager("a").with("x")
    #expect(await bench.manager("a").refreshError() == nil)
    let identity = try #require(bench.disk.bytes(Self.file))
    for path in bench.disk.paths() where path.hasPrefix("/folder/") {
      if !path.hasPrefix("/folder/catalogue/") { try bench.disk.remove(path) }
    }
    let b = try bench.manager("b").openOrCreateDatastore("x")
    for _ in 0..<6 { #expect(await b.exchangeError()?.code == .retryLater) }
    #expect(bench.disk.bytes(Self.file) == nil)
    try bench.disk.setBytes(Self.file, identity)
    #expect(await b.exchangeError() == nil)
    try b.close()
  }
}
