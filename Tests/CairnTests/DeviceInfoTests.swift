import TestSupport
import Testing

@testable import Cairn

/// What `devices()` says of each device.
@Suite struct DeviceInfoTests {
  private func info(_ device: Datastore, by other: Datastore) async throws -> DeviceInfo {
    try #require(try await other.devices().first { $0.id == device.device })
  }

  private func bytes(_ names: [String], _ bench: FolderWorkbench) throws -> UInt64 {
    try names.reduce(0) { try $0 + UInt64(bench.read(bench.shared + "/" + $1).count) }
  }

  @Test func `each has its own user and files, and says how much of it is visible here`()
    async throws
  {
    let bench = try FolderWorkbench()
    let a = try await bench.publisher("a")
    let b = try DatastoreManager(
      root: bench.root("b"), account: Account(user: "bob", folder: .directory(bench.folder)),
      options: bench.options
    ).openOrCreateDatastore(bench.id)
    try b.add("b")
    try await b.pull()
    for name in ["c", "d"] { try b.add(name) }
    try await b.exchange()
    // What was fetched is not visible yet.
    try await a.exchange()
    let fetched = try await info(b, by: a)
    #expect(fetched.user == "bob" && !fetched.isThisDevice)
    #expect(fetched.publishedDeltas == 3 && fetched.incorporatedDeltas == 0)
    let files = try bench.segments(b)
    #expect(files.count == 2 && fetched.files == 2)
    #expect(try fetched.bytes == bytes(files, bench))
    #expect(fetched.acknowledged == [a.device: 1, b.device: 3])
    try a.sync()
    #expect(try await info(b, by: a).incorporatedDeltas == 3)
    try b.add("e")
    try await b.exchange()
    let newer = try await info(b, by: a)
    #expect(newer.publishedDeltas == 4 && newer.incorporatedDeltas == 3)
  }

  /// Of what this device has only what is published counts.
  @Test func `the own device is told by what it has published`() async throws {
    let bench = try FolderWorkbench()
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    try a.add("later")
    let own = try await info(a, by: a)
    #expect(own.user == "ann" && own.isThisDevice && own.files == 1)
    #expect(own.publishedDeltas == 1 && own.incorporatedDeltas == 1)
    #expect(try own.bytes == bytes(bench.segments(a), bench))
    #expect(own.acknowledged == [a.device: 1])
    let all = try await a.devices()
    #expect(all.map(\.id) == [a.device, b.device].sorted())
    #expect(all.filter(\.isThisDevice).map(\.id) == [a.device])
  }
}
