import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// From when the grace of unused contents counts, and what ends it.
@Suite struct AttachmentGraceTests {
  private let bench = IdentityBench(seed: 21)
  private let day: Int64 = 86_400_000
  private let hash = SHA256.hash(sample(1))

  private func reopened(_ device: Datastore, _ name: String) throws -> Datastore {
    try device.close()
    return try bench.open(name)
  }

  @Test func `a content that is attached again begins its grace anew, whatever process does it`()
    async throws
  {
    var a = try bench.open("a")
    _ = try a.attach(sample(1))
    a = try reopened(a, "a")
    #expect(try await a.collectAttachments().waiting == 1)
    bench.clock.advance(by: 31 * day)
    _ = try a.attach(sample(1))
    a = try reopened(a, "a")
    #expect(try await a.collectAttachments().waiting == 1)
    bench.clock.advance(by: 29 * day)
    #expect(try await a.collectAttachments().waiting == 1)
    bench.clock.advance(by: 2 * day)
    #expect(try await a.collectAttachments().removedHere == 1)
    #expect(a.blobs.ledger.unused.isEmpty)
    try a.close()
  }

  @Test func `a reference that comes and goes between two looks begins the grace anew`()
    async throws
  {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1))
    #expect(try await bench.settle([a, b]))
    try a.table("t").record("r")?.delete()
    #expect(try await bench.settle([a, b]))
    #expect(try await a.collectAttachments().waiting == 1)
    bench.clock.advance(by: 20 * day)
    #expect(try b.trash.restoreAll() == 1)
    try b.sync()
    try b.table("t").record("r")?.set("photo", nil)
    try b.sync()
    try await b.exchange()
    // Both at once, so that nothing here ever sees it in use.
    try await a.pull()
    #expect(a.blobs.ledger.unused[hash] == nil)
    bench.clock.advance(by: 11 * day)
    let result = try await a.collectAttachments()
    #expect(result.removedHere == 0 && result.waiting == 1)
    let entry = try #require(a.blobs.ledger.unused[hash])
    let number = b.store.vector[b.store.device]
    #expect(number > 0 && entry.vector[b.store.device] == number, "others have to know that, too")
    try a.close()
    try b.close()
  }

  @Test(arguments: [true, false])
  func `own deltas that name a content begin its grace anew`(isOtherProcess: Bool) async throws {
    var a = try bench.open("a")
    let id = try a.addPhoto("r", sample(1)).id
    try a.table("t").record("r")?.delete()
    try a.sync()
    if isOtherProcess { a = try reopened(a, "a") }
    // The process that has attached it, and has not looked since, waits for it to be set.
    #expect(try await a.collectAttachments().waiting == (isOtherProcess ? 1 : 0))
    bench.clock.advance(by: 31 * day)
    try a.table("t").insert(["photo": .attachment(id)], id: "again")
    try a.sync()
    try a.table("t").record("again")?.delete()
    try a.sync()
    let result = try await a.collectAttachments()
    #expect(result.removedHere == 0 && result.waiting == (isOtherProcess ? 1 : 0))
    #expect(try a.attachment(id).state == .here)
    try a.close()
  }

  @Test func `what was attached and never set goes after its grace, in a running process too`()
    async throws
  {
    let a = try bench.open("a")
    _ = try a.attach(sample(1))
    #expect(try await a.collectAttachments(graceSeconds: 0) == AttachmentCollection())
    bench.clock.advance(by: 29 * day)
    _ = try a.attach(sample(2))
    #expect(try await a.collectAttachments() == AttachmentCollection())
    bench.clock.advance(by: 2 * day)
    #expect(try await a.collectAttachments().removedHere == 1)
    #expect(Array(a.blobs.pinned.keys) == [SHA256.hash(sample(2))])
    try a.close()
  }

  @Test func `a grace that is given is in seconds`() async throws {
    var a = try bench.open("a")
    _ = try a.attach(sample(1))
    a = try reopened(a, "a")
    let grace = Double(2 * 86_400)
    #expect(try await a.collectAttachments(graceSeconds: grace).waiting == 1)
    for step in [day, day - 1] {
      bench.clock.advance(by: step)
      let result = try await a.collectAttachments(graceSeconds: grace)
      #expect(result.waiting == 1 && result.removedHere == 0)
    }
    bench.clock.advance(by: 1)
    #expect(try await a.collectAttachments(graceSeconds: grace).removedHere == 1)
    try a.close()
  }

  /// One that is read as empty for once would be as it is for the next process.
  @Test(arguments: [DiskError.Reason.tooManyOpen, .io(errno: 5)], [false, true])
  func `a list of unused contents that can't be read for once ends no grace`(
    reason: DiskError.Reason, stays: Bool
  ) async throws {
    let (disk, clock, random) = (bench.disk("a"), bench.clock, bench.random("a"))
    let faults = Shared(0)
    let deaf = DeafDisk(base: disk) { path in
      guard path.hasSuffix("/" + FileName.unusedBlobs) else { return nil }
      let isNow = faults.withLock { count in
        count -= 1
        return count >= 0
      }
      return isNow ? reason : nil
    }
    func local() throws -> Datastore {
      try DatastoreManager(
        root: "/root", account: nil, folder: nil, options: bench.options,
        machine: Machine(disk: deaf, clock: clock, random: random)
      ).openOrCreateDatastore("notes")
    }
    var a = try local()
    _ = try a.attach(sample(1))
    try a.close()
    a = try local()
    #expect(try await a.collectAttachments().waiting == 1)
    try a.close()
    bench.clock.advance(by: 31 * day)

    a = try local()
    let list = a.blobs.directory + "/" + FileName.unusedBlobs
    if stays { disk.intercept { $0.verb == "remove" && $0.path == list ? .denied : nil } }
    _ = faults.exchange(1)
    if stays {
      let error = #expect(throws: CairnError.self) { _ = try a.attach(sample(1)) }
      #expect(error?.code == CairnError(DiskError(reason: reason, operation: "", path: "")).code)
      #expect(a.blobs.pinned.isEmpty)
      disk.intercept(nil)
    }
    try a.addPhoto("r", sample(1))
    try a.table("t").record("r")?.delete()
    try a.sync()
    try a.close()
    a = try local()
    let result = try await a.collectAttachments()
    #expect(result.removedHere == 0 && result.waiting == 1)
    #expect(a.blobs.ledger.unused[hash]?.since == bench.clock.now())
    try a.close()
  }

  @Test func `attaching that failed pins nothing`() throws {
    let a = try bench.open("a")
    try a.add("first")
    let disk = bench.disk("a")
    var failures = 0
    for step in 1...9 {
      disk.failAt(operation: disk.operations + step, reason: .noSpace)
      do { _ = try a.attach(sample(UInt64(step))) } catch {
        failures += 1
        #expect(a.blobs.pinned[SHA256.hash(sample(UInt64(step)))] == nil, "step \(step)")
      }
      disk.heal()
    }
    #expect(failures > 3)
    try a.close()
  }

  // MARK: the folder

  @Test func `news of others do not keep a content in the folder for ever`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1))
    #expect(try await bench.settle([a, b]))
    try a.table("t").record("r")?.delete()
    try a.sync()
    #expect(try await a.collectAttachments(graceSeconds: 0).unacknowledged == 1)
    #expect(try await bench.settle([a, b]))
    // B has told that it knows of the delete, and can't know of this yet.
    try a.add("news")
    let result = try await a.collectAttachments(graceSeconds: 0)
    #expect(result.removedInFolder == 1 && result.unacknowledged == 0)
    try a.close()
    try b.close()
  }

  @Test func `every round asks whether all devices know, not only the one that looks`()
    async throws
  {
    var a = try bench.open("a")
    let b = try bench.open("b")
    try a.addPhoto("r", sample(1))
    #expect(try await bench.settle([a, b]))
    try a.table("t").record("r")?.delete()
    try a.sync()
    #expect(try await a.collectAttachments().waiting == 1)
    #expect(a.blobs.ledger.unused[hash]?.known == nil)
    a = try reopened(a, "a")
    try await b.pull()
    try await b.exchange()
    bench.clock.advance(by: 1000)
    try await a.exchange()
    #expect(a.blobs.ledger.unused[hash]?.known == bench.clock.now())
    #expect(try BlobLedger.read(a.blobs) == a.blobs.ledger)
    try a.close()
    try b.close()
  }

  @Test func `what was asked for is asked no more once it can't be looked at`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1))
    #expect(try await bench.settle([a, b]))
    try a.table("t").record("r")?.delete()
    try a.sync()
    #expect(try await a.collectAttachments(graceSeconds: 0).unacknowledged == 1)
    // One that only a newer version can read: it might be to anything.
    var bytes = BlobReference(length: 5, hash: hash).encoded()
    bytes.removeLast(8)
    bytes[10] = 2
    bytes.put(XXH3.hash64(bytes))
    // It comes before the word that all devices know of the delete.
    try b.table("t").insert(["photo": .bytes(bytes)], id: "newer")
    #expect(try await bench.settle([a, b]))
    #expect(a.blobs.ledger.unused[hash]?.known != nil)
    for _ in 0..<4 { #expect(try await a.exchange().requests == 1) }
    try a.close()
    try b.close()
  }

  @Test func `what is too old in the trash neither comes back nor keeps a content`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1))
    #expect(try await bench.settle([a, b]))
    try a.table("t").record("r")?.delete()
    #expect(try await bench.settle([a, b]))
    #expect(try b.trash.list().count == 1)
    #expect(try await b.collectAttachments(graceSeconds: 0).removedHere == 0)
    bench.clock.advance(by: 31 * day)
    #expect(try b.trash.list().isEmpty)
    #expect(try b.trash.restoreAll() == 0)
    #expect(try await b.collectAttachments(graceSeconds: 0).removedHere == 1)
    #expect(!bench.disk("b").paths().contains { $0.hasSuffix(".del") })
    try a.close()
    try b.close()
  }

  @Test func `what a list in the trash refers to stays, and comes back with it`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    let attachment = try a.attach(sample(1))
    try a.table("t").insert(["many": .list([1, attachment.value])], id: "r")
    #expect(try await bench.settle([a, b]))
    let copy = b.attachment(attachment.id)
    try #require(try copy.state == .here)
    try a.table("t").record("r")?.delete()
    #expect(try await bench.settle([a, b]))
    #expect(try b.trash.list().count == 1 && b.attachments().isEmpty)
    #expect(try await b.collectAttachments(graceSeconds: 0).removedHere == 0)
    #expect(try b.trash.restoreAll() == 1)
    #expect(try copy.state == .here && copy.bytes() == sample(1))
    try b.sync()
    try b.trash.empty()
    try b.table("t").record("r")?.delete()
    try b.sync()
    #expect(try await b.collectAttachments(graceSeconds: 0).removedHere == 1)
    try a.close()
    try b.close()
  }

  @Test func `a trash that keeps longer than the grace keeps contents in the folder`()
    async throws
  {
    bench.options.attachmentGraceSeconds = 86_400
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    try a.table("t").record("r")?.delete()
    try a.sync()
    #expect(try await a.collectAttachments().waiting > 0)
    bench.clock.advance(by: 20 * day)
    try await a.exchange()
    #expect(bench.folder.paths().contains { $0.hasSuffix(".blob") })
    #expect(!bench.disk("a").paths().contains { $0.hasSuffix(".blob") })
    bench.clock.advance(by: 11 * day)
    try await a.exchange()
    #expect(!bench.folder.paths().contains { $0.hasSuffix(".blob") })
    try a.close()
  }

  /// What it said while it was ahead holds nothing up when it is set right.
  @Test func `a clock that was ahead is looked at anew at once, and graces count from there`()
    async throws
  {
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    try a.table("t").record("r")?.delete()
    try a.sync()
    #expect(try await a.collectAttachments().waiting > 0)
    let before = try #require(a.blobs.ledger.unused[hash])
    #expect(before.since == bench.clock.now() && before.known == bench.clock.now())
    bench.clock.advance(by: -40 * day)
    try await a.exchange()
    let ledger = a.blobs.ledger
    #expect(ledger.looked == bench.clock.now())
    let entry = try #require(ledger.unused[hash])
    #expect(entry.since == bench.clock.now() && entry.known == bench.clock.now())
    bench.clock.advance(by: 31 * day)
    let result = try await a.collectAttachments()
    #expect(result.removedHere == 1 && result.removedInFolder == 1)
    try a.close()
  }

  /// Records in it may refer to anything.
  @Test func `a file of the trash that only a newer version can read keeps all contents`()
    async throws
  {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    let id = try a.addPhoto("r", sample(1)).id
    #expect(try await bench.settle([a, b]))
    try a.table("t").record("r")?.delete()
    #expect(try await bench.settle([a, b]))
    let disk = bench.disk("b")
    let path = try #require(disk.paths().first { $0.hasSuffix(".del") })
    let whole = try #require(disk.bytes(path))
    var newer = whole
    (newer[8], newer[10]) = (9, 9)
    newer.removeLast(8)
    newer.put(XXH3.hash64(newer))
    try disk.setBytes(path, newer)
    let error = await #expect(throws: CairnError.self) {
      _ = try await b.collectAttachments(graceSeconds: 0)
    }
    #expect(error?.code == .needsNewerVersion && error?.file == path)
    #expect(try b.attachment(id).state == .here)
    try disk.setBytes(path, whole)
    #expect(try b.trash.restoreAll() == 1)
    #expect(try b.content(of: "r") == sample(1))
    try a.close()
    try b.close()
  }

  // MARK: no room

  @Test func `a full disk does not keep unused contents from going`() async throws {
    var a = try bench.open("a")
    try a.add("first")
    _ = try a.attach(sample(1))
    a = try reopened(a, "a")
    #expect(try await a.collectAttachments().waiting == 1)
    try await a.exchange()
    bench.clock.advance(by: 31 * day)
    let disk = bench.disk("a")
    disk.capacity = disk.usedBytes
    #expect(try await a.collectAttachments().removedHere == 1)
    #expect(try BlobLedger.read(a.blobs).looked == bench.clock.now())
    disk.capacity = nil
    try a.close()
  }

  @Test func `parts of contents that nothing refers to go after the grace`() async throws {
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    let path = a.blobs.directory + "/" + FileName.blobPart(SHA256.hash(sample(9)))
    let disk = bench.disk("a")
    try disk.setBytes(path, sample(9, 100))
    _ = try await a.collectAttachments()
    #expect(disk.bytes(path) != nil)
    bench.clock.advance(by: 31 * day)
    _ = try await a.collectAttachments()
    #expect(disk.bytes(path) == nil)
    #expect(try a.content(of: "r") == sample(1))
    try a.close()
  }

  @Test func `who asks in a round that can't publish is told that nothing was looked for`()
    async throws
  {
    let first = try bench.open("a")
    try first.addPhoto("r", sample(1))
    try await first.exchange()
    try first.close()
    bench.clone("a", as: "c")
    let (a, c) = (try bench.open("a"), try bench.open("c"))
    try a.add("x")
    try await a.exchange()
    try c.add("y")
    let error = await #expect(throws: CairnError.self) {
      _ = try await c.collectAttachments(graceSeconds: 0)
    }
    #expect(error?.code == .retryLater)
    try a.close()
    try c.close()
  }
}
