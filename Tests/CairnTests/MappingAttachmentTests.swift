import Cairn
import TestSupport
import Testing

/// Contents that objects refer to, and records not yet.
@Suite struct MappingAttachmentTests {
  struct Shot: TableModel, Equatable {
    static let table = "shots"

    var title: String
    var photo: AttachmentID?
  }

  @Test func `a content that only a queued object refers to is not collected`() async throws {
    let bench = MappingBench(seed: 91)
    let mappings: [ObjectMapping] = [.synced(Shot.self)]
    let first = try await bench.open("a", mappings, suspendCount: 1)
    let (photo, other) = (try first.main.attach(sample(1)).id, try first.main.attach(sample(2)).id)
    try await first.store.write { objects throws(CairnError) in
      try objects.insert(Shot(title: "kept", photo: photo), id: "r")
      try objects.insert(Shot(title: "deleted", photo: other), id: "s")
    }
    try await first.close()
    // Another process: nothing is known of what was attached a moment ago.
    let a = try await bench.open("a", mappings, suspendCount: 1)
    #expect(try await a.queue().map { $0.sorted() } == [["+r", "+s"]])
    #expect(try await a.main.collectAttachments(graceSeconds: 0) == AttachmentCollection())
    try await a.store.write { objects throws(CairnError) in try objects.delete(Shot.self, "s") }
    let collected = try await a.main.collectAttachments(graceSeconds: 0)
    #expect(collected.removedHere == 1 && collected.bytesHere == 3000)
    #expect(try a.main.attachment(photo).bytes() == sample(1))
    #expect(try a.main.attachment(other).state == .missing)
    a.store.resume()
    let b = try await bench.open("b", mappings)
    #expect(try await bench.settle([a, b]))
    #expect(try b.store.objects(Shot.self).get("r") == Shot(title: "kept", photo: photo))
    #expect(try b.main.attachment(photo).bytes() == sample(1))
  }
}
