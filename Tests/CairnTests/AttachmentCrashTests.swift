import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// The power fails at every step of the disk while contents are attached, published, fetched and
/// removed, and whatever could be left goes on from there.
@Suite struct AttachmentCrashTests {
  private static let models: [CrashModel] = [.nothingUnsynced, .everything, .subset(3), .torn(4)]

  private func bytes(_ seed: UInt64) -> [UInt8] { sample(seed, 1500) }

  /// Every record's content is here or can be fetched, and is right.
  private func expectWhole(_ device: Datastore, _ comment: Comment) async throws {
    for use in try device.attachments() {
      let attachment = device.attachment(use.id)
      try await attachment.fetch()
      let bytes = try attachment.bytes()
      #expect(SHA256.hash(bytes).hex == use.id.sha256, comment)
    }
  }

  /// Runs `body` until a power cut before each of its steps, and `check` on what each leaves.
  private func everyCut(
    of name: String, from scene: IdentityBench, _ body: (Datastore) async throws -> Void,
    _ check: (IdentityBench, Comment) async throws -> Void
  ) async throws {
    func start() throws -> (IdentityBench, Datastore) {
      let bench = IdentityBench(seed: 7)
      bench.options = scene.options
      for (other, disk) in scene.disks { bench.use(disk.snapshot(), for: other) }
      bench.useFolder(scene.folder.snapshot())
      return (bench, try bench.open(name))
    }
    let (whole, first) = try start()
    let opened = whole.disk(name).operations
    try await body(first)
    let count = whole.disk(name).operations - opened
    #expect(count >= 5)
    var seen: Set<Int> = []
    for step in 1...(count + 1) {
      let (bench, device) = try start()
      let disk = bench.disk(name)
      disk.powerOff(before: disk.operations + step)
      do { try await body(device) } catch { try #require(disk.isOff, "\(error)") }
      for model in Self.models {
        let left = disk.crash(keep: model)
        let folder = bench.folder.snapshot()
        if !seen.insert(left.fingerprint() ^ folder.fingerprint()).inserted { continue }
        let after = IdentityBench(seed: 8)
        after.options = scene.options
        for (other, disk) in bench.disks { after.use(disk.snapshot(), for: other) }
        after.use(left, for: name)
        after.useFolder(folder)
        try await check(after, "power off before step \(step), \(model)")
      }
    }
    #expect(seen.count > count / 2)
  }

  @Test func `a power cut at any step of attaching and publishing names nothing that is not there`()
    async throws
  {
    let scene = IdentityBench()
    let a = try scene.open("a")
    try a.add("first")
    try await a.exchange()
    try a.close()
    try await everyCut(of: "a", from: scene) { device in
      try device.addPhoto("one", self.bytes(1))
      try await device.exchange()
      try device.addPhoto("two", self.bytes(2))
      try await device.exchange()
    } _: { bench, comment in
      // Another device, with nothing but the folder.
      let b = try bench.open("b")
      try await b.pullAll()
      try await self.expectWhole(b, comment)
      let a = try bench.open("a")
      // What is in a record at home has its content at home.
      for use in try a.attachments() {
        #expect(try a.attachment(use.id).bytes().count == 1500, comment)
      }
      try a.addPhoto("three", self.bytes(3))
      #expect(try await bench.settle([a, b]), comment)
      try await self.expectWhole(b, comment)
      #expect(try b.ids() == a.ids(), comment)
      #expect(try b.ids().contains("three"), comment)
      let names = bench.disk("a").paths().filter { $0.contains("/blobs/") }
      #expect(names.allSatisfy { !$0.hasSuffix(".tmp") }, comment)
    }
  }

  @Test func `a power cut at any step of fetching leaves no wrong content`() async throws {
    let scene = IdentityBench()
    let a = try scene.open("a")
    for seed in 1...3 { try a.addPhoto("r\(seed)", bytes(UInt64(seed))) }
    try await a.exchange()
    try a.close()
    let b = try scene.open("b")
    try await b.exchange()
    try b.close()
    try await everyCut(of: "b", from: scene) { device in
      try device.sync()
      try await device.exchange()
    } _: { bench, comment in
      let b = try bench.open("b")
      try await b.pullAll()
      try await self.expectWhole(b, comment)
      #expect(try b.attachments().count == 3, comment)
      #expect(try b.content(of: "r2") == self.bytes(2), comment)
    }
  }

  @Test func `a power cut at any step of the sync that brings the first contents forgets none`()
    async throws
  {
    let scene = IdentityBench()
    let (a, b) = (try scene.open("a"), try scene.open("b"))
    try a.add("first")
    #expect(try await scene.settle([a, b]))
    try a.addPhoto("r", bytes(1))
    try await a.exchange()
    try a.close()
    try b.close()
    try await everyCut(of: "b", from: scene) { device in
      try await device.exchange()
      try device.sync()
    } _: { bench, comment in
      let b = try bench.open("b")
      for _ in 0..<6 { try await b.pull() }
      #expect(try b.ids() == ["first", "r"], comment)
      #expect(try b.content(of: "r") == self.bytes(1), comment)
    }
  }

  @Test func `a sync that can't note that the first contents are wanted is tried again`()
    async throws
  {
    let bench = IdentityBench(seed: 9)
    let a = try bench.open("a")
    try a.addPhoto("r", bytes(1))
    try await a.exchange()
    var b = try bench.open("b")
    try await b.exchange()
    let disk = bench.disk("b")
    let path = b.blobs.directory
    disk.intercept { $0.path == path ? .noSpace : nil }
    let error = #expect(throws: CairnError.self) { try b.sync() }
    #expect(error?.code == .diskSpace)
    disk.intercept(nil)
    try b.close()
    b = try bench.open("b")
    for _ in 0..<2 { try await b.pull() }
    try await b.exchange()
    #expect(try b.content(of: "r") == bytes(1))
    try b.close()
  }

  @Test func `a power cut at any step of removing takes nothing that is in use`() async throws {
    let scene = IdentityBench()
    let (a, b) = (try scene.open("a"), try scene.open("b"))
    for seed in 1...4 { try a.addPhoto("r\(seed)", bytes(UInt64(seed))) }
    #expect(try await scene.settle([a, b]))
    for id in ["r1", "r3"] { try a.table("t").record(RecordID(id))?.delete() }
    #expect(try await scene.settle([a, b]))
    try a.close()
    try b.close()
    try await everyCut(of: "a", from: scene) { device in
      let result = try await device.collectAttachments(graceSeconds: 0)
      #expect(result.removedHere == 2 && result.removedInFolder == 2)
    } _: { bench, comment in
      let a = try bench.open("a")
      let c = try bench.open("c")
      #expect(try await bench.settle([a, c]), comment)
      try await self.expectWhole(a, comment)
      try await self.expectWhole(c, comment)
      #expect(try c.attachments().count == 2, comment)
      let result = try await a.collectAttachments(graceSeconds: 0)
      #expect(result.waiting == 0 && result.unacknowledged == 0, comment)
      #expect(bench.folder.paths().count { $0.hasSuffix(".blob") } == 2, comment)
    }
  }

  @Test func `a disk that fails a step says so, and goes on`() async throws {
    var (strikes, uses) = (0, 0)
    for step in 1...24 {
      let bench = IdentityBench(seed: 3)
      let (a, b) = (try bench.open("a"), try bench.open("b"))
      try a.add("first")
      try await a.exchange()
      let disk = bench.disk("a")
      disk.failAt(operation: disk.operations + step, reason: .noSpace)
      do {
        try a.addPhoto("r", bytes(1))
        try await a.exchange()
      } catch {}
      strikes += disk.strikeCount
      disk.heal()
      var device = a
      do throws(CairnError) { try device.sync() } catch {
        #expect(error.code == .syncFailed, "step \(step)")
        do { try device.close() } catch {}
        device = try bench.open("a")
      }
      #expect(try await bench.settle([device, b]), "step \(step)")
      try await expectWhole(b, "step \(step)")
      #expect(try b.ids() == device.ids(), "step \(step)")
      uses += try b.attachments().count
    }
    #expect(strikes > 7 && uses > 0)
  }
}
