import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// What crashes leave half written goes, while nobody else can be writing it.
@Suite struct LeftoverTests {
  private let bench = CatalogueBench()
  private let name = FileName.temporary(0xBAD)

  private func plant(_ directory: String) throws {
    try bench.disk.createDirectory(directory)
    let file = try bench.disk.open(directory + "/" + name, .create)
    try file.write([UInt8](repeating: 7, count: 9).span, at: 0)
    file.close()
  }

  private func isThere(_ directory: String) throws -> Bool {
    try bench.disk.info(directory + "/" + name) != nil
  }

  @Test func `half-written files of a root and its quarantine go with the next exchange`()
    async throws
  {
    try await bench.manager("a").with("x")
    try plant("/a")
    try plant("/a/quarantine")
    try await bench.manager("a").refresh()
    #expect(try !isThere("/a"))
    #expect(try !isThere("/a/quarantine"))
    #expect(try bench.manager("a").ids() == ["x"])
  }

  @Test func `those of a root stay while somebody moves datastores`() async throws {
    try await bench.manager("a").with("x")
    try plant("/a")
    let lock = try bench.disk.lock("/a/" + FileName.migrationLock)
    let manager = bench.manager("a")
    try await manager.refresh()
    #expect(try isThere("/a"))
    lock.unlock()
    try await manager.refresh()
    #expect(try !isThere("/a"))
  }

  @Test(arguments: ["quarantine", "snap"])
  func `those in a datastore's directories go when it is opened`(name: String) async throws {
    try await bench.manager("a").with("x")
    try plant("/a/p-x/" + name)
    let datastore = try bench.manager("a").openOrCreateDatastore("x")
    #expect(try !isThere("/a/p-x/" + name))
    try datastore.close()
  }

  @Test func `those of a datastore's directory go with the next compaction`() async throws {
    try await bench.manager("a").with("x") { try $0.add("r") }
    try plant("/a/p-x")
    let datastore = try bench.manager("a").openOrCreateDatastore("x")
    #expect(try isThere("/a/p-x"))
    _ = try datastore.compact()
    #expect(try !isThere("/a/p-x"))
    #expect(try datastore.ids() == ["r"])
    try datastore.close()
  }

  @Test func `those of a datastore's trash go with the next compaction`() async throws {
    try await bench.manager("a").with("x") { try $0.add("r") }
    try plant("/a/p-x/trash")
    let datastore = try bench.manager("a").openOrCreateDatastore("x")
    #expect(try isThere("/a/p-x/trash"))
    _ = try datastore.compact()
    #expect(try !isThere("/a/p-x/trash"))
    try datastore.close()
  }

  @Test func `those of a folder go after a week, by the clock and by the files beside them`()
    async throws
  {
    let clock = ManualClock()
    let disk = MemoryDisk(clock: clock)
    let folder = DirectoryFolder(
      "/f", machine: Machine(disk: disk, clock: clock, random: SeededRandom(1)))
    try disk.createDirectory("/f/d")
    try disk.setBytes("/f/d/" + name, [7])
    let day: Int64 = 86_400_000
    clock.advance(by: 6 * day)
    _ = try await folder.write("d/other", [1])
    #expect(try await folder.list("d").map(\.name) == [name, "other"], "it may be under way")
    clock.advance(by: 100 * day)
    #expect(try await folder.list("d").count == 2, "only this clock says that it is old")
    _ = try await folder.write("d/third", [1])
    #expect(try await folder.list("d").map(\.name) == ["other", "third"])
    #expect(disk.bytes("/f/d/" + name) == nil)
  }

  @Test func `one in the inbox that can't be removed keeps no datastore from being opened`()
    async throws
  {
    try await bench.manager("a").with("x") { try $0.add("r") }
    try plant("/a/p-x/inbox")
    let path = "/a/p-x/inbox/" + name
    bench.disk.intercept { $0.verb == "remove" && $0.path == path ? .io(errno: 5) : nil }
    let datastore = try bench.manager("a").openDatastore("x")
    #expect(try datastore.ids() == ["r"] && isThere("/a/p-x/inbox"))
    try datastore.close()
    bench.disk.heal()
    try bench.manager("a").openDatastore("x").close()
    #expect(try !isThere("/a/p-x/inbox"))
  }
}
