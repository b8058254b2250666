import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import Cairn

/// Removing contents that nothing refers to, while several devices go on.
@Suite struct AttachmentCollectionTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  private func meet(_ devices: [Datastore], rounds: Int = 3) async throws {
    for _ in 0..<rounds { for device in devices { try await device.pull() } }
  }

  @Test func `a content goes from the folder when all devices know that nothing refers to it`()
    async throws
  {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1))
    try await meet([a, b])
    try a.table("t").record("r")?.delete()
    try a.sync()
    var result = try await a.collectAttachments(graceSeconds: 0)
    #expect(result.removedHere == 1 && result.removedInFolder == 0 && result.unacknowledged == 1)
    #expect(try bench.blobs().count == 1)
    try await b.exchange()
    #expect(try b.content(of: "r") == sample(1), "b has not seen the delete yet")
    #expect(try await a.collectAttachments(graceSeconds: 0).unacknowledged == 1)
    try await meet([b, a, b], rounds: 1)
    result = try await a.collectAttachments(graceSeconds: 0)
    #expect(result.removedInFolder == 1 && result.bytesInFolder == 3000)
    #expect(try bench.blobs() == [])
    // The other's record is in its trash, and can come back with its content.
    #expect(try await b.collectAttachments(graceSeconds: 0).removedHere == 0)
    #expect(try b.trash.restoreAll() == 1)
    try b.sync()
    try await b.exchange()
    #expect(try bench.blobs(of: b).count == 1, "published again before the delta")
    try await meet([a, b])
    #expect(try a.content(of: "r") == sample(1))
  }

  @Test func `nothing goes before the grace has ended, whatever the clock says`() async throws {
    let clock = ManualClock()
    let disk = MemoryDisk(clock: clock)
    let machine = Machine(disk: disk, clock: clock, random: SeededRandom(1))
    func open() throws -> Datastore {
      try DatastoreManager(
        root: "/root", account: Account(user: "ann", folder: .directory("/folder")),
        folder: { DirectoryFolder("/folder", machine: machine) }, options: Options(),
        machine: machine
      ).openOrCreateDatastore("notes")
    }
    var a = try open()
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    try a.table("t").record("r")?.delete()
    try a.sync()
    try await a.exchange()
    let day: Int64 = 86_400_000
    #expect(try await a.collectAttachments().waiting == 1)
    clock.advance(by: 29 * day)
    #expect(try await a.collectAttachments().waiting == 1)
    // The clock was ahead, and is put right: the grace begins again.
    clock.set(clock.now() - 40 * day)
    #expect(try await a.collectAttachments().waiting == 1)
    clock.advance(by: 29 * day)
    try a.close()
    a = try open()
    #expect(try await a.collectAttachments().waiting == 1)
    clock.advance(by: 2 * day)
    // Rounds do it by themselves, once a day.
    try await a.exchange()
    #expect(!disk.paths().contains { $0.hasSuffix(".blob") || $0.hasSuffix(".own") })
    try a.close()
  }

  @Test func `a record in conflict keeps both contents`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.table("t").insert([:], id: "r")
    try a.sync()
    try await meet([a, b])
    try a.table("t").record("r")?.attach("photo", sample(1))
    try a.sync()
    try b.table("t").record("r")?.attach("photo", sample(2))
    try b.sync()
    try await meet([a, b])
    for device in [a, b] {
      let result = try await device.collectAttachments(graceSeconds: 0)
      #expect(result == AttachmentCollection())
      #expect(try device.attachments().count == 2)
      try device.compact()
      #expect(try await device.collectAttachments(graceSeconds: 0) == AttachmentCollection())
    }
    let winner = try a.photo("r").id
    try a.table("t").record("r")?.set("seen", true)
    try a.table("t").record("r")?.set("photo", .attachment(winner))
    try a.sync()
    #expect(try a.content(of: "r") != nil)
  }

  @Test func `a device that attaches the same content meanwhile keeps its own file`()
    async throws
  {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1))
    try await meet([a, b])
    try a.table("t").record("r")?.delete()
    try a.sync()
    try await meet([a, b])
    // At the same time: a removes, b refers to it anew and has seen a's file just now.
    try b.addPhoto("again", sample(1))
    try await b.exchange()
    let result = try await a.collectAttachments(graceSeconds: 0)
    #expect(result.removedInFolder == 0, "b's head says that there is something new")
    try bench.remove(bench.blobs + "/" + bench.blobs(of: a)[0])
    #expect(try bench.blobs() == ["\(b.device)-\(SHA256.hash(sample(1)).hex).blob"])
    let c = try bench.open("c")
    try await meet([c, a, b, c])
    for device in [a, b, c] { #expect(try device.content(of: "again") == sample(1)) }
  }

  /// B copies the reference into another record, before it hears that A has deleted the one that it
  /// copied from. Whatever A looks at when, the content stays.
  @Test(arguments: 0..<6)
  func `a reference that is copied concurrently is never lost`(moment: Int) async throws {
    let a = try bench.open("a")
    let b = try bench.open("b", .onDemand)
    try a.addPhoto("r", sample(1))
    try await meet([a, b])
    try a.table("t").record("r")?.delete()
    try a.sync()
    try b.table("t").insert(["photo": try b.photo("r").value], id: "copy")
    if moment > 0 { try b.sync() }
    func look(_ now: Int) async throws {
      if moment == now { _ = try await a.collectAttachments(graceSeconds: 0) }
    }
    try await look(1)
    try await a.exchange()
    try await look(2)
    try await b.exchange()
    try await look(3)
    try b.sync()
    try await b.exchange()
    try await look(4)
    try await a.exchange()
    try await look(5)
    try a.sync()
    _ = try await a.collectAttachments(graceSeconds: 0)
    try await meet([a, b])
    try await b.photo("copy").fetch()
    #expect(try b.content(of: "copy") == sample(1))
    try await meet([a, b])
    #expect(try a.content(of: "copy") == sample(1))
  }

  @Test func `a head that can't be read stops all removing in the folder`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1))
    try await meet([a, b])
    try a.table("t").record("r")?.delete()
    try a.sync()
    try await meet([a, b])
    let head = bench.shared + "/" + bench.head(b)
    let bytes = try bench.read(head)
    try bench.write(head, [UInt8](bytes.dropLast(5)))
    #expect(try await a.collectAttachments(graceSeconds: 0).unacknowledged == 1)
    try bench.write(head, bytes)
    #expect(try await a.collectAttachments(graceSeconds: 0).removedInFolder == 1)
  }

  @Test func `only own files are removed`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("a", sample(1))
    try b.addPhoto("b", sample(2))
    try await meet([a, b])
    for id in ["a", "b"] { try a.table("t").record(RecordID(id))?.delete() }
    try a.sync()
    try await meet([a, b])
    #expect(try await a.collectAttachments(graceSeconds: 0).removedInFolder == 1)
    #expect(try bench.blobs() == bench.blobs(of: b))
    try b.trash.empty()
    #expect(try await b.collectAttachments(graceSeconds: 0).removedInFolder == 1)
    #expect(try bench.blobs() == [])
    #expect(try bench.contents("b") == ["UNUSED"])
  }

  @Test func `what others may have in their trash stays in the folder for one more grace`()
    async throws
  {
    let clock = ManualClock()
    let day: Int64 = 86_400_000
    let world = IdentityBench(seed: 5)
    let (a, b) = (try world.open("a"), try world.open("b"))
    let home = BlobStore(
      store: "/ledger", machine: Machine(disk: MemoryDisk(), clock: clock, random: SeededRandom(1)),
      isDurable: false, limit: 1 << 20)
    try home.machine.disk.createDirectory("/ledger")
    try home.begin()
    let collector = BlobCollector(store: a.store, home: home, grace: 30 * day)
    let hash = SHA256.hash([1])
    func look(_ isKnown: Bool) throws -> (gone: Int, AttachmentCollection) {
      var result = AttachmentCollection()
      let permission = BlobCollector.Permission(elsewhere: [hash], isKnown: { _ in isKnown })
      let found = try collector.expired(BlobCollector.Reach(), permission, &result)
      return (found.elsewhere.count, result)
    }
    #expect(try look(false).1.waiting == 1)
    clock.advance(by: 40 * day)
    #expect(try look(false).1.unacknowledged == 1)
    #expect(try look(true).1.waiting == 1, "known from now on")
    clock.advance(by: 29 * day)
    #expect(try look(true).gone == 0)
    clock.advance(by: day)
    #expect(try look(false).gone == 0, "somebody has news")
    #expect(try look(true).gone == 1)
    try a.close()
    try b.close()
  }

  @Test func `a device whose head is not listed has not told anything`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1))
    try b.add("own")
    try await meet([a, b])
    try a.table("t").record("r")?.delete()
    try a.sync()
    try await meet([a, b])
    let head = bench.shared + "/" + bench.head(b)
    let bytes = try bench.read(head)
    try bench.remove(head)
    #expect(try await a.collectAttachments(graceSeconds: 0).removedInFolder == 0)
    try a.close()
    // Also for a process that has never seen it: b has written deltas that are here.
    let again = try bench.open("a")
    #expect(try await again.collectAttachments(graceSeconds: 0).removedInFolder == 0)
    #expect(try bench.blobs().count == 1)
    try bench.write(head, bytes)
    #expect(try await again.collectAttachments(graceSeconds: 0).removedInFolder == 1)
  }

  @Test func `a content that is attached again while it is looked at stays pinned`() throws {
    let a = try bench.open("a")
    let attachment = try a.attach(sample(1))
    let hash = attachment.id.reference.hash
    let before = a.blobs.pinned
    _ = try a.attach(sample(1))
    a.blobs.unpin([hash], of: before)
    #expect(a.blobs.pinned[hash] != nil)
    a.blobs.unpin([hash], of: a.blobs.pinned)
    #expect(a.blobs.pinned.isEmpty)
  }

  @Test func `what is attached and set while one looks stays, whoever else looks meanwhile`()
    throws
  {
    let a = try bench.open("a")
    let first = BlobCollector(store: a.store, home: a.blobs, grace: 0)
    let reach = try first.reach()
    try a.addPhoto("r", sample(1))
    // Finds it in the record, and unpins it.
    _ = try BlobCollector(store: a.store, home: a.blobs, grace: 0).reach()
    #expect(a.blobs.pinned.isEmpty)
    var result = AttachmentCollection()
    let expired = try first.expired(reach, BlobCollector.Permission(), &result)
    try first.remove(expired.here, lookedAt: reach.attachments, &result)
    #expect(expired.here.isEmpty && result.removedHere == 0)
    #expect(try a.content(of: "r") == sample(1))
    // The next look judges it.
    #expect(try a.blobs.attached(after: first.reach().attachments).isEmpty)
  }

  @Test func `also what one who looks was just about to remove`() throws {
    let a = try bench.open("a")
    _ = try a.attach(sample(1))
    a.blobs.unpin([SHA256.hash(sample(1))], of: a.blobs.pinned)
    let first = BlobCollector(store: a.store, home: a.blobs, grace: 0)
    let reach = try first.reach()
    var result = AttachmentCollection()
    let expired = try first.expired(reach, BlobCollector.Permission(), &result)
    #expect(expired.here.count == 1)
    try a.addPhoto("r", sample(1))
    _ = try BlobCollector(store: a.store, home: a.blobs, grace: 0).reach()
    #expect(a.blobs.pinned.isEmpty)
    try first.remove(expired.here, lookedAt: reach.attachments, &result)
    #expect(result.removedHere == 0)
    #expect(try a.content(of: "r") == sample(1))
  }

  @Test func `a delta that is not published yet keeps the content that it names`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.add("first")
    try await meet([a, b])
    try a.addPhoto("r", sample(1))
    try a.table("t").record("r")?.set("photo", nil)
    try a.sync()
    try a.close()
    // In a process that never attached it, and before anything was published.
    let again = try bench.open("a")
    let collector = BlobCollector(store: again.store, home: again.blobs, grace: 0)
    #expect(try collector.reach().hashes.isEmpty)
    _ = try await again.collectAttachments(graceSeconds: 0)
    #expect(try bench.blobs().count == 1, "it went up with the delta")
  }
}

/// The file that says since when contents are unused.
struct BlobLedgerTests {
  @Test func `the page's example`() throws {
    let bytes = try FormatPage.example("unused")
    var ledger = BlobLedger()
    ledger.looked = 1_700_000_000_000
    ledger.unused[SHA256.hash(Array("hello".utf8))] = BlobLedger.Entry(
      since: 1_690_000_000_000, known: 1_695_000_000_000,
      vector: VersionVector([Dot(device: DeviceID(rawValue: 9), sequence: 2)]))
    ledger.lost[SHA256.hash([])] = 2
    #expect(ledger.encoded() == bytes)
    #expect(try BlobLedger(bytes, path: "x") == ledger)
    for index in bytes.indices {
      #expect(throws: LogError.self) { try BlobLedger(bytes.flipped(at: index), path: "x") }
    }
    for length in bytes.indices {
      #expect(throws: LogError.self) { try BlobLedger([UInt8](bytes[..<length]), path: "x") }
    }
  }
}
