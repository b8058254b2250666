import CairnBytes
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// References of a newer version, to contents that this one can read.
@Suite struct AttachmentNewerTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    // Every second quiet round looks for contents.
    bench.options.tuning.blobQuietRounds = 1
  }

  /// A device that has published a record with such a reference, and maybe another with an own one
  /// to the same content.
  private func publisher(hasBoth: Bool) async throws -> Datastore {
    let datastore = try bench.open("a")
    let id = try datastore.attach(sample(1)).id
    var bytes = [UInt8](id.reference.encoded().dropLast(8))
    bytes[8] = 2
    bytes.put(XXH3.hash64(bytes))
    let newer = AttachmentID(try #require(BlobReference(bytes)))
    #expect(newer != id && !newer.needsNewerVersion)
    try datastore.table("t").insert(["photo": .attachment(newer)], id: "r")
    if hasBoth { try datastore.table("t").insert(["photo": .attachment(id)], id: "s") }
    try datastore.sync()
    #expect(try await datastore.exchange().publishedAttachments == 1)
    return datastore
  }

  @Test(arguments: [false, true])
  func `their contents are fetched once`(hasBoth: Bool) async throws {
    _ = try await publisher(hasBoth: hasBoth)
    let b = try bench.open("b")
    #expect(try await b.pullAll().fetchedAttachments == 1)
    for _ in 0..<4 { #expect(try await b.pull().fetchedAttachments == 0) }
    #expect(try b.content(of: "r") == sample(1))
    #expect(try b.photo("r").id.reference.newer != nil)
  }

  @Test func `their contents that vanished come back from a device that has them`() async throws {
    let a = try await publisher(hasBoth: false)
    let b = try bench.open("b")
    try await b.pullAll()
    for datastore in [a, b] { try datastore.close() }
    try bench.remove(bench.blobs)
    let again = try bench.open("b")
    for _ in 0..<4 { try await again.pull() }
    #expect(try bench.blobs() == ["\(again.device)-\(SHA256.hash(sample(1)).hex).blob"])
  }
}
