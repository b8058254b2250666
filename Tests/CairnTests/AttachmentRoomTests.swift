import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Contents for which a device has no room.
@Suite struct AttachmentRoomTests {
  private let bench = IdentityBench(seed: 71)

  /// A has published a content of 1 MiB, and B knows of it.
  private func open() async throws -> Datastore {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1, 1 << 20))
    try await a.exchange()
    try await b.pull()
    try a.close()
    return b
  }

  @Test func `a content that does not fit gives back what room it took, and comes later`()
    async throws
  {
    let b = try await open()
    let disk = bench.disk("b")
    disk.capacity = disk.usedBytes + (300 << 10)
    // The first piece of it fits.
    let report = try await b.exchange()
    #expect(report.fetchedAttachments == 0)
    #expect(report.problems.map(\.name) == [try b.photo("r").id.description])
    #expect(disk.paths().filter { $0.hasSuffix(".part") } == [])
    // More than the piece would have left.
    let text = String(repeating: "x", count: 90_000)
    try b.table("t").insert(["text": .string(text)], id: "own")
    try b.sync()
    #expect(try b.ids() == ["r", "own"])
    disk.capacity = nil
    #expect(try await b.exchange().fetchedAttachments == 1)
    #expect(try b.content(of: "r") == sample(1, 1 << 20))
    try b.close()
  }

  @Test func `a content that does not fit is fetched ever more seldom`() async throws {
    let script = ScriptedFolder.Script()
    bench.scripts["b"] = script
    let b = try await open()
    let disk = bench.disk("b")
    disk.capacity = disk.usedBytes + (300 << 10)
    for _ in 0..<15 { try await b.exchange() }
    // In the rounds 1, 2, 4 and 8.
    #expect(script.reads.count { $0.hasSuffix(".blob") } == 4)
    disk.capacity = nil
    var fetched = 0
    for _ in 0..<24 { fetched += try await b.exchange().fetchedAttachments }
    #expect(fetched == 1)
    try b.close()
  }

  /// EFBIG, as the file system or `ulimit -f` says it.
  @Test func `a content that is too large for any file here leaves nothing, and comes later`()
    async throws
  {
    let script = ScriptedFolder.Script()
    bench.scripts["b"] = script
    let b = try await open()
    let disk = bench.disk("b")
    disk.intercept { $0.verb == "write" && $0.path.hasSuffix(".part") ? .io(errno: 27) : nil }
    for _ in 0..<15 { #expect(try await b.exchange().fetchedAttachments == 0) }
    // In the rounds 1, 2, 4 and 8.
    #expect(script.reads.count { $0.hasSuffix(".blob") } == 4)
    let photo = try b.photo("r")
    let error = await #expect(throws: CairnError.self) { try await photo.fetch() }
    #expect(error?.code == .diskSpace && error?.message.contains("ulimit -f") == true)
    #expect(disk.paths().filter { $0.hasSuffix(".part") } == [])
    disk.intercept(nil)
    var fetched = 0
    for _ in 0..<24 { fetched += try await b.exchange().fetchedAttachments }
    #expect(fetched == 1)
    try b.close()
  }
}
