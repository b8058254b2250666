import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Contents stay with their datastore, whatever happens to that.
@Suite struct AttachmentMoveTests {
  /// Every attachment of a device is here, or comes when it is asked for.
  private func expectAll(
    _ device: Datastore, _ count: Int, _ comment: Comment? = nil
  ) async throws {
    let uses = try device.attachments()
    #expect(uses.count == count, comment)
    for use in uses {
      try await device.attachment(use.id).fetch()
      #expect(
        SHA256.hash(try device.attachment(use.id).bytes()).hex == use.id.sha256, comment)
    }
  }

  @Test func `a clone and its original keep the contents of both`() async throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    try a.addPhoto("common", sample(1))
    try await a.exchange()
    try a.close()
    bench.clone("a", as: "b")
    let (first, second) = (try bench.open("a"), try bench.open("b"))
    try first.addPhoto("first", sample(2))
    try first.addPhoto("same", sample(4))
    try second.addPhoto("second", sample(3))
    try second.addPhoto("same2", sample(4))
    try await second.exchange()
    #expect(try await bench.settle([first, second]))
    let c = try bench.open("c")
    #expect(try await bench.settle([first, second, c]))
    for device in [first, second, c] { try await expectAll(device, 5) }
    #expect(first.device != second.device)
    for device in [first, second, c] {
      _ = try await device.collectAttachments(graceSeconds: 0)
    }
    bench.clear(bench.disk("d"))
    let d = try bench.open("d")
    try await d.pullAll()
    try await expectAll(d, 5, "nothing that is in use was removed")
  }

  @Test func `a restored backup publishes the contents that it has`() async throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    try a.addPhoto("old", sample(1))
    try await a.exchange()
    try a.close()
    bench.clone("a", as: "backup")
    let later = try bench.open("a")
    try later.addPhoto("later", sample(2))
    try await later.exchange()
    try later.close()
    let restored = try bench.open("backup")
    try restored.addPhoto("restored", sample(3))
    let b = try bench.open("b")
    #expect(try await bench.settle([restored, b]))
    try await expectAll(b, 3)
    try await expectAll(restored, 3)
  }

  @Test(arguments: [false, true])
  func `a repaired datastore has the contents of the damaged one`(isLinked: Bool) async throws {
    let bench = try DamageWorkbench()
    func manager() throws -> DatastoreManager {
      isLinked ? try bench.linked("a") : try bench.local()
    }
    let datastore = try manager().openOrCreateDatastore("notes")
    try bench.fill(datastore)
    try datastore.addPhoto("published", sample(1))
    if isLinked { try await datastore.exchange() }
    try datastore.addPhoto("own", sample(2))
    try datastore.close()
    let store = bench.directory(try manager().root)
    let snapshot = try #require(try bench.files(store + "/snap", ".snap").first)
    let file = try bench.disk.open(snapshot, .readWrite)
    try file.write([UInt8](repeating: 0xAA, count: 40).span, at: 300)
    file.close()
    #expect(try await manager().repairDatastore("notes").wasNeeded)
    let repaired = try manager().openDatastore("notes")
    #expect(try repaired.content(of: "own") == sample(2))
    #expect(try repaired.content(of: "published") == sample(1))
    if isLinked {
      try await repaired.exchange()
      let b = try bench.linked("b").openOrCreateDatastore("notes")
      try await b.pullAll()
      #expect(try b.content(of: "own") == sample(2))
      #expect(try b.content(of: "published") == sample(1))
    }
  }

  @Test func `local datastores take their contents along into an account`() async throws {
    let bench = CatalogueBench()
    let local = bench.local("l")
    let before = try local.openDefaultDatastore()
    try before.addPhoto("mine", sample(1))
    try before.addPhoto("both", sample(2))
    try before.close()
    let there = try bench.manager("a").openDefaultDatastore()
    try there.addPhoto("theirs", sample(3))
    try there.addPhoto("both2", sample(2))
    try await there.exchange()
    try there.close()
    let a = bench.manager("a")
    _ = try local.migrate(to: a)
    let moved = try a.openDefaultDatastore()
    try await expectAll(moved, 4)
    #expect(try moved.content(of: "mine") == sample(1))
    try await moved.exchange()
    let b = try bench.manager("b").openDefaultDatastore()
    try await b.pullAll()
    try await expectAll(b, 4)
    #expect(try b.content(of: "mine") == sample(1))
  }

  @Test func `a restored datastore gets contents that only the deleted one has in the folder`()
    async throws
  {
    let bench = CatalogueBench()
    bench.options.attachments = .onDemand
    let (a, b) = try await bench.deletePhoto(hasArrived: false)
    #expect(bench.files("/folder/p-default") == [])
    for manager in [a, b] { #expect(try await manager.refresh().requests == 1) }
    try b.restore(try #require(try b.trashedDatastores().first))
    let restored = try b.openDefaultDatastore()
    try await restored.photo("r").fetch()
    #expect(try restored.content(of: "r") == sample(1))
    try restored.close()
  }

  @Test func `a deleted datastore's contents go from the folder later, and stay in the trash`()
    async throws
  {
    let bench = CatalogueBench()
    _ = try await bench.deletePhoto(hasArrived: true)
    #expect(bench.files("/folder/b-p-default").count == 1)
    #expect(bench.disk.paths().contains { $0.hasPrefix("/b/trash/") && $0.hasSuffix(".blob") })
    // Also a manager that has never seen it before.
    let again = bench.manager("a")
    bench.clock.advance(by: 29 * 86_400_000)
    try await again.refresh()
    #expect(bench.files("/folder/b-p-default").count == 1)
    bench.clock.advance(by: 2 * 86_400_000)
    for _ in 0..<3 { try await again.refresh() }
    #expect(bench.files("/folder/b-p-default") == [])
    #expect(try await again.refresh().requests == 1)
    #expect(!bench.disk.paths().contains { $0.hasPrefix("/a/") && $0.hasSuffix(".blob") })
  }

  @Test func `compaction, joining and reopening keep references and contents`() async throws {
    let bench = IdentityBench()
    bench.options.tuning.segmentBytes = 300
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    for index in 0..<10 {
      try a.addPhoto("a\(index)", sample(UInt64(index), 500))
      try b.addPhoto("b\(index)", sample(UInt64(100 + index), 500))
      if index % 3 == 0 { try a.compact() }
    }
    let log = bench.disk("a").paths().filter { $0.contains("/log/") && $0.hasSuffix(".seg") }
    try #require(log.count > 1)
    #expect(try await bench.settle([a, b]))
    try bench.expectEqual([a, b])
    for device in [a, b] { try await expectAll(device, 20) }
    try a.close()
    try await expectAll(try bench.open("a"), 20)
  }
}
