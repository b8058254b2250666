import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A content that was right when it came, and whose bytes have changed on the medium since: neither
/// its size nor its time tells that, and this process has no reason to read it once more.
@Suite struct RottenContentTests {
  private let bench = CatalogueBench()

  /// The only content of a datastore that was attached there.
  private func content() throws -> String {
    try #require(
      bench.disk.paths().first { $0.hasPrefix("/a/p-notes/blobs/") && $0.hasSuffix(".own") })
  }

  @Test func `what rots before it is published gets into no folder`() async throws {
    let a = try bench.manager("a").openOrCreateDatastore("notes")
    try a.addPhoto("r", sample(1))
    let path = try content()
    try bench.disk.corrupt(path, 2999, xor: 1)
    let rotten = try #require(bench.disk.bytes(path))
    let report = try await a.exchange()
    #expect(report.publishedDeltas == 1 && report.publishedAttachments == 0)
    #expect(report.problems.contains { $0.reason.contains("is damaged") })
    #expect(bench.files("/folder/b-p-notes") == [], "neither it nor a part of it")
    #expect(bench.disk.bytes(path) == nil)
    let aside = bench.files("/a/p-notes/quarantine").map { "/a/p-notes/quarantine/" + $0 }
    #expect(aside.contains { bench.disk.bytes($0) == rotten })
    _ = try a.attach(sample(1))
    #expect(try await a.exchange().publishedAttachments == 1)
    try a.close()
  }

  /// In the first of three pieces, or in the last.
  @Test(arguments: [0, 599_999])
  func `what rots after it was read once is not given out to its end`(place: Int) throws {
    let a = try bench.local("a").openOrCreateDatastore("notes")
    let photo = try a.addPhoto("r", sample(1, 600_000))
    #expect(try photo.bytes() == sample(1, 600_000))
    try bench.disk.corrupt(try content(), place, xor: 1)
    var given = 0
    let error = #expect(throws: CairnError.self) { try photo.read { given += $0.count } }
    #expect(error?.code == .corrupt && given == 2 * BlobStore.chunkBytes)
    #expect(try photo.state == .missing)
    try a.close()
  }
}
