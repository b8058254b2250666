import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Contents that are here, or on their way, and that the disk does not give.
@Suite struct AttachmentUnreadTests {
  private let bench = IdentityBench(seed: 61)

  /// A device whose disk does not give the contents that were attached there, as long as there is a
  /// reason.
  private func open(
    _ name: String, _ reason: Shared<DiskError.Reason?>
  ) throws -> Datastore {
    try open(name) { path in path.hasSuffix(".own") ? reason.withLock { $0 } : nil }
  }

  private func open(
    _ name: String, _ fault: @escaping @Sendable (_ path: String) -> DiskError.Reason?
  ) throws -> Datastore {
    let disk = DeafDisk(base: bench.disk(name), fault: fault)
    let machine = Machine(disk: disk, clock: bench.clock, random: bench.random(name))
    let place = Machine(disk: bench.folder, clock: bench.clock, random: SeededRandom(5))
    return try DatastoreManager(
      root: "/root", account: Account(user: "ann", folder: .directory("/folder")),
      folder: { DirectoryFolder("/folder", machine: place) }, options: bench.options,
      machine: machine
    ).openOrCreateDatastore("notes")
  }

  @Test(arguments: [DiskError.Reason.io(errno: 5), .denied])
  func `a content that the disk does not give keeps deltas for a while only`(
    reason: DiskError.Reason
  ) async throws {
    var a = try bench.open("a")
    try await a.exchange()
    try a.addPhoto("r", sample(1))
    try a.add("behind")
    try a.close()
    let fault = Shared<DiskError.Reason?>(reason)
    a = try open("a", fault)
    let code = CairnError(DiskError(reason: reason, operation: "open", path: "")).code
    for _ in 1..<Exchange.patience { #expect(await a.exchangeError()?.code == code) }
    let report = try await a.exchange()
    #expect(report.publishedDeltas == 2 && report.publishedAttachments == 0)
    let name = SHA256.hash(sample(1)).hex
    #expect(report.problems.map { $0.name.contains(name) } == [true])
    try a.add("later")
    #expect(try await a.exchange().publishedDeltas == 1)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == ["r", "behind", "later"])
    #expect(try b.content(of: "r") == nil)

    // It follows when it can be read.
    _ = fault.exchange(nil)
    var published = 0
    for _ in 0..<24 { published += try await a.exchange().publishedAttachments }
    #expect(published == 1)
    for _ in 0..<24 { try await b.pull() }
    #expect(try b.content(of: "r") == sample(1))
  }

  @Test func `what has come of a content and can't be read is not gone on with for ever`()
    async throws
  {
    let a = try bench.open("a")
    let photo = try a.addPhoto("r", sample(1))
    try await a.exchange()
    let b = try bench.open("b")
    try await b.pull()
    try b.blobs.begin()
    let disk = bench.disk("b")
    let reference = photo.id.reference
    let part = b.blobs.directory + "/" + FileName.blobPart(reference.hash)
    // ENOMEM says nothing of the file.
    for (code, isLeft) in [(12, true), (5, false)] as [(Int32, Bool)] {
      try disk.setBytes(part, sample(3, 700))
      let before = disk.strikeCount
      func isStruck() -> Bool {
        disk.strikes.dropFirst(before).contains { $0.verb == "read" && $0.path == part }
      }
      // It is looked up, opened and measured first.
      for step in 1...8 where !isStruck() {
        disk.failAt(read: disk.reads + step, reason: .io(errno: code))
        let error = #expect(throws: CairnError.self) { _ = try BlobPart(b.blobs, reference) }
        let wanted: CairnError.Code = isLeft ? .memory : .fileIO
        #expect(error?.code == wanted)
        disk.heal()
      }
      #expect(isStruck())
      #expect((disk.bytes(part) != nil) == isLeft, "errno \(code)")
    }
    try await b.attachment(photo.id).fetch()
    #expect(try b.content(of: "r") == sample(1))
  }

  /// Something in there may refer to anything that is here.
  @Test func `a file of the trash that can't be read keeps contents from going, none from coming`()
    async throws
  {
    let a = try bench.open("a")
    for id in ["r1", "r2", "r3"] { try a.add(id) }
    try await a.exchange()
    let lost = Shared<String?>(nil)
    let b = try open("b") { path in lost.withLock { $0 } == path ? .io(errno: 5) : nil }
    try await b.pull()
    for id in ["r1", "r2"] {
      try a.table("t").record(RecordID(id))?.delete()
      try a.sync()
      try await a.exchange()
      try await b.pull()
    }
    let files = bench.disk("b").paths().filter { $0.hasSuffix(".del") }.sorted()
    try #require(files.count == 2)
    _ = lost.exchange(files[0])
    #expect(try b.trash.list().map(\.id.description) == ["r2"])
    #expect(try b.trash.problems.map(\.file) == [files[0]])

    let photo = try a.addPhoto("photo", sample(1))
    try await a.exchange()
    #expect(try await b.pull().problems == [])
    let report = try await b.pull()
    #expect(report.problems == [] && report.fetchedAttachments == 1)
    #expect(try b.content(of: "photo") == sample(1))
    #expect(try await b.attachment(photo.id).evict())
    try await b.attachment(photo.id).fetch()
    try a.table("t").record("photo")?.delete()
    try a.sync()
    try await a.exchange()
    try await b.pull()
    let error = await #expect(throws: CairnError.self) {
      _ = try await b.collectAttachments(graceSeconds: 0)
    }
    #expect(error?.code == .fileIO)
    #expect(try b.attachment(photo.id).state == .here)
    _ = lost.exchange(nil)
    #expect(try await b.collectAttachments(graceSeconds: 0).removedHere == 0)
    try b.trash.empty()
    #expect(try await b.collectAttachments(graceSeconds: 0).removedHere == 1)
  }

  /// What an older file has is not what was there last.
  @Test(arguments: [DiskError.Reason.tooManyOpen, .io(errno: 12)])
  func `what this process lacks at the newest file of the trash brings nothing older back`(
    reason: DiskError.Reason
  ) async throws {
    let a = try bench.open("a")
    let lost = Shared<String?>(nil)
    let b = try open("b") { path in lost.withLock { $0 } == path ? reason : nil }
    func meet() async throws {
      try a.sync()
      try await a.exchange()
      try await b.pull()
    }
    for text in ["old", "new"] {
      try a.table("t").insert(["text": .string(text)], id: "r")
      try await meet()
      try a.table("t").record("r")?.delete()
      try await meet()
    }
    let files = bench.disk("b").paths().filter { $0.hasSuffix(".del") }.sorted()
    try #require(files.count == 2)
    _ = lost.exchange(files[1])
    let code: CairnError.Code = reason == .tooManyOpen ? .system : .memory
    for error in [failure { _ = try b.trash.list() }, failure { try b.trash.restoreAll() }] {
      #expect(error?.code == code && error?.file == files[1])
    }
    #expect(try b.ids() == [])
    _ = lost.exchange(nil)
    #expect(try b.trash.restoreAll() == 1)
    #expect(try b.table("t").record("r")?.fields == ["text": "new"])
  }

  @Test(arguments: [CairnError.Code.fileIO, .readOnly])
  func `a folder that takes no contents keeps deltas for as long as that is so`(
    code: CairnError.Code
  ) async throws {
    let bench = try FolderWorkbench()
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    try a.addPhoto("r", sample(1))
    hook.set { request, path throws(CairnError) in
      if request == .write, path.hasSuffix(".blob") { throw CairnError(code, "no", file: path) }
    }
    for _ in 0..<(Exchange.patience + 2) { #expect(await a.exchangeError()?.code == code) }
    #expect(try bench.segments(a) == [])
    hook.set(nil)
    let report = try await a.exchange()
    #expect(report.publishedDeltas == 1 && report.publishedAttachments == 1)
  }
}
