import Cairn
import CairnBytes
import CairnDisk
import TestSupport
import Testing

/// The files of a root that are not a datastore's own: whatever is in them, nothing traps, nothing
/// is deleted, and the error names the file.
@Suite struct CatalogueDamageTests {
  private static func prepared() async throws -> CatalogueBench {
    let bench = CatalogueBench()
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("n") { try $0.setTitle("title") }
    try await b.with("n")
    try await b.with("gone")
    try await b.refresh()
    try b.uncacheDatastore("gone")
    for manager in [a, b, a] { try await manager.refresh() }
    return bench
  }

  /// The bytes cut short and changed, with wrong checksums and with right ones.
  private static func spoiled(_ bytes: [UInt8]) -> [[UInt8]] {
    var result = bytes.indices.map { Array(bytes[0..<$0]) }
    for index in bytes.indices { result.append(bytes.flipped(at: index)) }
    for index in 0..<(bytes.count - 8) {
      for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
        var copy = bytes
        copy[index] = value
        copy.set(XXH3.hash64(copy, 0..<(copy.count - 8)), at: copy.count - 8)
        result.append(copy)
      }
    }
    return result
  }

  @Test func `a damaged CATALOGUE is an error that names it`() async throws {
    let bench = try await Self.prepared()
    let good = try #require(bench.disk.bytes("/b/CATALOGUE"))
    var refused = 0
    for bytes in Self.spoiled(good) {
      try bench.disk.setBytes("/b/CATALOGUE", bytes)
      if let error = failure({ _ = try bench.manager("b").listDatastores() }) {
        #expect(error.code == .corrupt || error.code == .needsNewerVersion, "\(error)")
        #expect(error.file == "/b/CATALOGUE")
        refused += 1
      }
      #expect(bench.disk.bytes("/b/p-n/CURRENT") != nil)
    }
    #expect(refused > good.count * 2)
    // Removed, as the message says, it is made anew.
    try bench.disk.remove("/b/CATALOGUE")
    let b = bench.manager("b")
    try await b.refresh()
    #expect(try b.listDatastores().map(\.title) == [nil, "title"])
  }

  @Test func `a damaged INFO is as good as none`() async throws {
    let bench = try await Self.prepared()
    let good = try #require(bench.disk.bytes("/b/p-n/INFO"))
    for bytes in Self.spoiled(good) {
      try bench.disk.setBytes("/b/p-n/INFO", bytes)
      #expect(try bench.manager("b").ids() == ["gone", "n"])
    }
    try bench.manager("b").openDatastore("n").close()
    #expect(try bench.manager("b").datastoreInfos()["n"]?.title == "title")
  }

  @Test func `a damaged MIGRATION is an error, and moves nothing but datastores`() async throws {
    let bench = try await Self.prepared()
    let local = bench.local("l")
    try await local.with("n") { try $0.add("r") }
    // Off just behind the last step that counts, so that both files are there.
    let start = bench.disk.snapshot()
    var step = 1
    while true {
      bench.use(start.snapshot())
      bench.disk.powerOff(before: bench.disk.operations + step)
      do { try bench.local("l").migrate(to: bench.manager("b")) } catch {}
      bench.disk.heal()
      if bench.disk.bytes("/b/MIGRATION") != nil { break }
      step += 1
      try #require(step < 1000)
    }
    for (root, path) in [("b", "/b/MIGRATION"), ("l", "/l/MIGRATION")] {
      let good = try #require(bench.disk.bytes(path))
      let killed = bench.disk.snapshot()
      var refused = 0
      for bytes in Self.spoiled(good) {
        bench.use(killed.snapshot())
        try bench.disk.setBytes(path, bytes)
        let manager = root == "b" ? bench.manager("b") : bench.local("l")
        let error = failure { _ = try manager.listDatastores() }
        let isRefusal = error?.code == .corrupt || error?.code == .needsNewerVersion
        if isRefusal, error?.file == path { refused += 1 }
        let copies = ["/l/p-n/CURRENT", "/b/p-n/CURRENT"].compactMap { bench.disk.bytes($0) }
        #expect(!copies.isEmpty, "all copies are gone")
      }
      #expect(refused > good.count * 2)
      bench.use(killed)
    }
  }

  @Test(arguments: [DiskError.Reason.io(errno: 5), .denied, .notRegular])
  func `an INFO that can't be read is as good as none`(reason: DiskError.Reason) async throws {
    let bench = CatalogueBench()
    for (id, title) in [("one", "first"), ("two", "second")] {
      try await bench.manager("b").with(id) { try $0.setTitle(title) }
    }
    let disk = DeafDisk(base: bench.disk) { $0 == "/b/p-one/INFO" ? reason : nil }
    let b = bench.manager("b", on: disk)
    #expect(try b.listDatastores().map(\.title) == [nil, "second"])
    try await b.refresh()
    let other = bench.manager("c")
    try await other.refresh()
    #expect(try other.datastoreInfos()["two"]?.title == "second")
    let one = try b.openDatastore("one")
    #expect(try one.title == "first")
    try one.setTitle("third")
    try one.sync()
    try one.close()
    #expect(try bench.manager("b").datastoreInfos()["one"]?.title == "third")
  }
}
