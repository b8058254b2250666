import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// The names that a content has in the directory of contents: one, when it is whole and right, and
/// none of what came to nothing.
@Suite struct AttachmentNameTests {
  private let bench = IdentityBench()
  private let hash = SHA256.hash(sample(1))

  /// Files of contents that a device has, whole ones and others.
  private func files(_ device: String) -> [String] {
    let directory = "/root/p-notes/blobs/"
    return bench.disk(device).paths().filter { $0.hasPrefix(directory) }
      .map { String($0.dropFirst(directory.count)) }.filter { $0 != FileName.unusedBlobs }
  }

  @Test func `a content that came from the folder and is attached here is there once`()
    async throws
  {
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    let b = try bench.open("b")
    try await b.pullAll()
    #expect(files("b") == [FileName.blob(hash, isOwn: false)])
    try b.addPhoto("s", sample(1))
    #expect(files("b") == [FileName.blob(hash, isOwn: true)])
    try await b.exchange()
    #expect(files("b") == [FileName.blob(hash, isOwn: false)])
    #expect(try b.content(of: "r") == sample(1))
  }

  @Test(arguments: ["sync", "rename"])
  func `what the disk does not let become a content is gone at once`(_ verb: String) throws {
    let a = try bench.open("a")
    let disk = bench.disk("a")
    let reason = DiskError.Reason.io(errno: 5)
    disk.intercept { step in
      step.verb == verb && step.path.contains("/blobs/") ? reason : nil
    }
    let wanted = CairnError(DiskError(reason: reason, operation: verb, path: "")).code
    #expect(code { _ = try a.attach(sample(1)) } == wanted)
    disk.intercept(nil)
    #expect(files("a") == [])
    #expect(a.blobs.pinned.isEmpty, "nothing was attached")
    _ = try a.attach(sample(1))
    #expect(files("a") == [FileName.blob(hash, isOwn: true)])
  }

  @Test func `of a copy that goes on behind its end nothing is kept`() async throws {
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    let script = ScriptedFolder.Script()
    script.read { path, bytes in path.hasSuffix(".blob") ? bytes.map { $0 + [0] } : bytes }
    bench.scripts["b"] = script
    let b = try bench.open("b")
    try await b.pull()
    let report = try await b.exchange()
    #expect(report.fetchedAttachments == 0 && report.problems.count == 1)
    #expect(report.problems.first?.reason.contains("is damaged") == true)
    #expect(files("b") == [])
    script.read(nil)
    for _ in 0..<24 { try await b.pull() }
    #expect(try b.content(of: "r") == sample(1))
    #expect(files("b") == [FileName.blob(hash, isOwn: false)])
  }

  // MARK: the list of what is unused

  @Test func `what is used again is not unused in the file either`() throws {
    let disk = MemoryDisk()
    try disk.createDirectory("/s")
    let machine = Machine(disk: disk, clock: ManualClock(), random: SeededRandom(1))
    let home = BlobStore(store: "/s", machine: machine, isDurable: true, limit: 1 << 20)
    try home.begin()
    try home.changeLedger { $0.unused[hash] = BlobLedger.Entry(since: 5) }
    #expect(try Array(BlobLedger.read(home).unused.keys) == [hash])
    let before = disk.operations
    try home.changeLedger { $0.unused[hash] = BlobLedger.Entry(since: 5) }
    #expect(disk.operations == before, "it says so already")
    try home.noteUsed([hash])
    #expect(home.ledger.unused.isEmpty)
    #expect(try BlobLedger.read(home).unused.isEmpty, "and so will the next process")
  }
}

/// What goes wrong while contents are fetched, and what comes after it.
@Suite struct AttachmentRoundTests {
  private let bench: FolderWorkbench
  private let hook = HookedFolder.Switch()

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  @Test func `a round whose contents did not come is made good by the next one`() async throws {
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    let b = try bench.open("b", hook)
    try await b.pull()
    hook.set { request, path throws(CairnError) in
      guard request == .read, path.hasSuffix(".blob") else { return }
      throw CairnError(.noConnection, "no", file: path)
    }
    let report = try await b.exchange()
    #expect(report.fetchedAttachments == 0 && report.problems.count == 1)
    hook.set(nil)
    #expect(try await b.exchange().fetchedAttachments == 1)
    #expect(try b.content(of: "r") == sample(1))
  }

  /// Somebody else may have the datastore open by then.
  @Test func `closed between two copies of a content, it asks for no other one`() async throws {
    for name in ["a", "c"] {
      let device = try bench.open(name)
      try device.addPhoto(name, sample(1))
      try await device.exchange()
    }
    try #require(try bench.blobs().count == 2)
    bench.options.attachments = .onDemand
    let b = try bench.open("b", hook)
    try await b.pullAll()
    let photo = try b.photo("a")
    #expect(try photo.state != .here)
    let before = Set(try bench.contents("b"))
    let reads = Told<String>()
    hook.set { request, path throws(CairnError) in
      guard request == .read, path.hasSuffix(".blob") else { return }
      reads.add(path)
      try b.close()
      throw CairnError(.server, "no", file: path)
    }
    let error = await #expect(throws: CairnError.self) { try await photo.fetch() }
    #expect(error?.code == .closed)
    #expect(reads.all.count == 1)
    // That of the first copy may have been begun.
    let begun = FileName.blobPart(SHA256.hash(sample(1)))
    #expect(Set(try bench.contents("b")).subtracting([begun]) == before)
  }

  /// The contents that it has found to be unused may be used by then.
  @Test func `closed while it looks for what may go, a round removes nothing`() async throws {
    bench.options.attachmentGraceSeconds = 0
    bench.options.tuning.blobCollectMilliseconds = 0
    let a = try bench.open("a")
    try a.add("r")
    try await a.exchange()
    let b = try bench.open("b")
    try b.add("s")
    try await b.exchange()
    try await a.pull()
    _ = try a.attach(sample(1))
    try a.close()
    // In another process nothing keeps it. The head is to say what came from the other device.
    let (old, isClosed) = (try bench.open("a", hook), Flag())
    let opened = Shared<Datastore?>(nil)
    hook.set { request, path throws(CairnError) in
      if request == .write, path.hasSuffix(".head") {
        throw CairnError(.diskSpace, "no room", file: path)
      }
      guard request == .list, path == "b-p-notes", isClosed.raise() else { return }
      do {
        try old.close()
        let again = try old.manager.openDatastore(old.id)
        try again.addPhoto("photo", sample(1))
        opened.withLock { $0 = again }
      } catch { Issue.record(error) }
    }
    #expect(await old.exchangeError()?.code == .diskSpace)
    hook.set(nil)
    let again = try #require(opened.withLock { $0 })
    #expect(try again.content(of: "photo") == sample(1))
    #expect(try again.ids() == ["r", "s", "photo"])
    try again.close()
    try b.close()
  }
}
