import CairnBytes
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// A content that is asked for when what was listed last does not hold any more.
@Suite struct AttachmentListingTests {
  private let bench: FolderWorkbench
  private let a: Datastore
  private let b: Datastore
  private let c: Datastore

  /// A has attached a content, B has it, and C knows A's copy of it in the folder.
  init() async throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    (a, b) = (try bench.open("a"), try bench.open("b"))
    c = try bench.open("c", .onDemand)
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    try await b.pullAll()
    try await c.pullAll()
  }

  private func removeCopy() throws {
    let reference = try c.photo("r").id.reference
    #expect(c.exchanger?.blobs?.isInFolder(reference) == true)
    #expect(try bench.blobs() == ["\(a.device)-\(reference.hash.hex).blob"])
    try bench.remove(bench.blobs + "/" + bench.blobs()[0])
  }

  @Test func `a copy that went, for which another came, is no damage`() async throws {
    try removeCopy()
    _ = try await b.repairFolder()
    #expect(try bench.blobs() == ["\(b.device)-\(SHA256.hash(sample(1)).hex).blob"])
    try await c.photo("r").fetch()
    #expect(try c.content(of: "r") == sample(1))
  }

  @Test func `a copy that went is not there, and comes when somebody gives it back`() async throws {
    try removeCopy()
    let error = await #expect(throws: CairnError.self) { try await c.photo("r").fetch() }
    #expect(error?.code == .notFound)
    #expect(try c.photo("r").state == .missing)
    _ = try await b.repairFolder()
    try await c.photo("r").fetch()
    #expect(try c.content(of: "r") == sample(1))
  }
}
