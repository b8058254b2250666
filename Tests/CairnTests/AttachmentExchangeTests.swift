import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Contents on their way from device to device, through a real folder.
@Suite struct AttachmentExchangeTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  // MARK: order

  @Test func `a content is in the folder before the delta that names it`() async throws {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    let requests = Told<String>()
    hook.set { request, path throws(CairnError) in
      if request == .write { requests.add(String(path.split(separator: ".").last ?? "")) }
    }
    try a.addPhoto("r", sample(1))
    let report = try await a.exchange()
    #expect(report.publishedAttachments == 1 && report.publishedAttachmentBytes == 3000)
    #expect(Array(requests.all.suffix(3)) == ["blob", "seg", "head"])
    #expect(try bench.blobs() == ["\(a.device)-\(SHA256.hash(sample(1)).hex).blob"])
    #expect(try bench.read(bench.blobs + "/" + bench.blobs()[0]) == sample(1), "as it is")
    #expect(try bench.contents("a").contains { $0.hasSuffix(".blob") })
    let b = try bench.open("b")
    #expect(try await b.pull().fetchedAttachments == 0)
    #expect(try b.photo("r").state == .remote)
    let fetched = try await b.exchange()
    #expect(fetched.fetchedAttachments == 1 && fetched.fetchedAttachmentBytes == 3000)
    #expect(try b.content(of: "r") == sample(1))
    #expect(try await a.pull().requests <= 3)
  }

  @Test func `a folder that takes no contents gets no deltas that name them`() async throws {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    try a.add("before")
    try await a.exchange()
    hook.set { request, path throws(CairnError) in
      if request == .write, path.hasSuffix(".blob") { throw CairnError(.quota, "full", file: path) }
    }
    try a.addPhoto("r", sample(1))
    let error = await a.exchangeError()
    #expect(error?.code == .quota)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == ["before"])
    hook.set(nil)
    try await a.exchange()
    try await b.pullAll()
    #expect(try b.content(of: "r") == sample(1))
  }

  @Test(arguments: ["blob", "seg", "head"])
  func `a kill after any write loses nothing and names nothing too early`(
    suffix: String
  ) async throws {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    try a.addPhoto("r", sample(1))
    let seen = Told<String>()
    hook.set { request, path throws(CairnError) in
      // What comes after that write never happens.
      if request == .write, !seen.all.isEmpty { throw CairnError(.network, "gone") }
      if request == .write, path.hasSuffix("." + suffix) { seen.add(path) }
    }
    _ = await a.exchangeError()
    #expect(seen.all.count == 1)
    try a.close()
    let b = try bench.open("b")
    try await b.pullAll()
    let uses = try b.attachments()
    #expect(suffix == "seg" || uses.count == (suffix == "head" ? 1 : 0))
    for use in uses { #expect(try b.attachment(use.id).state == .here) }
    let again = try bench.open("a")
    try await again.exchange()
    try await b.pullAll()
    #expect(try b.content(of: "r") == sample(1))
  }

  @Test func `what was attached and committed while a round runs waits for the next`()
    async throws
  {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    try a.addPhoto("first", sample(1))
    hook.set { request, path throws(CairnError) in
      guard request == .write, path.hasSuffix(".blob"), path.contains(SHA256.hash(sample(1)).hex)
      else { return }
      do { try a.addPhoto("second", sample(2)) } catch { throw CairnError(.internal, "\(error)") }
    }
    try await a.exchange()
    hook.set(nil)
    let b = try bench.open("b")
    try await b.pullAll()
    for use in try b.attachments() { #expect(try b.attachment(use.id).state == .here) }
    try await a.exchange()
    try await b.pullAll()
    #expect(try b.content(of: "second") == sample(2))
  }

  @Test func `both who attach the same content publish it, and who only copies it does not`()
    async throws
  {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("a", sample(1))
    try await a.exchange()
    try await b.pullAll()
    try b.table("t").insert(["photo": try b.photo("a").value], id: "copy")
    try b.sync()
    #expect(try await b.exchange().publishedAttachments == 0)
    try b.addPhoto("b", sample(1))
    #expect(try await b.exchange().publishedAttachments == 1)
    #expect(try bench.blobs().count == 2)
  }

  // MARK: what the folder does to files

  @Test func `a content that is only half there is waited for and gone on with`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    let bytes = sample(1, 900_000)
    try a.addPhoto("r", bytes)
    try await a.exchange()
    let path = try bench.blobs + "/" + bench.blobs()[0]
    try bench.write(path, [UInt8](bytes[..<500_000]))
    try await b.pullAll()
    #expect(try b.photo("r").state == .missing)
    let error = await #expect(throws: CairnError.self) { try await b.photo("r").fetch() }
    #expect(error?.code == .notFound)
    try bench.write(path, bytes)
    #expect(try await b.exchange().fetchedAttachments == 1)
    #expect(try b.content(of: "r") == bytes)
  }

  @Test func `a fetch that is interrupted goes on where it ended`() async throws {
    let bytes = sample(1, 900_000)
    let a = try bench.open("a")
    try a.addPhoto("r", bytes)
    try await a.exchange()
    var b = try bench.open("b")
    try await b.pull()
    try b.close()
    try bench.makeDirectory(bench.home("b"))
    let hash = SHA256.hash(bytes)
    try bench.write(bench.home("b") + "/\(hash.hex).part", [UInt8](bytes[..<700_000]))
    let read = Told<UInt64>()
    let path = bench.folder
    b = try DatastoreManager(
      root: bench.root("b"), account: Account(user: "ann", folder: .directory(path)),
      folder: { RangeFolder(base: DirectoryFolder(path), read: read) }, options: bench.options,
      machine: .real
    ).openOrCreateDatastore(bench.id)
    try await b.photo("r").fetch()
    #expect(read.all == [700_000])
    #expect(try b.content(of: "r") == bytes)
    #expect(try bench.contents("b") == ["\(hash.hex).blob"])
  }

  @Test func `a part that was damaged is fetched from its beginning`() async throws {
    let bytes = sample(1, 900_000)
    let a = try bench.open("a")
    try a.addPhoto("r", bytes)
    try await a.exchange()
    let b = try bench.open("b")
    try await b.pull()
    try bench.makeDirectory(bench.home("b"))
    try bench.write(
      bench.home("b") + "/\(SHA256.hash(bytes).hex).part", [UInt8](repeating: 1, count: 700_000))
    try await b.photo("r").fetch()
    #expect(try b.content(of: "r") == bytes)
  }

  @Test func `damaged bytes of the right length never get a name, and are mended by their owner`()
    async throws
  {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    let path = try bench.blobs + "/" + bench.blobs()[0]
    try bench.write(path, sample(2))
    try await b.pull()
    let report = try await b.exchange()
    #expect(report.fetchedAttachments == 0 && report.problems.count == 1)
    #expect(try bench.contents("b").filter { $0.hasSuffix(".blob") || $0.hasSuffix(".part") } == [])
    let error = await #expect(throws: CairnError.self) { try await b.photo("r").fetch() }
    #expect(error?.code == .corrupt)
    let repair = try await a.repairFolder()
    #expect(repair.damaged.count == 1 && repair.isWhole)
    #expect(try bench.read(path) == sample(1))
    try await b.photo("r").fetch()
    #expect(try b.content(of: "r") == sample(1))
    #expect(try await a.repairFolder().wasWhole)
  }

  @Test func `a good copy of another device is as good`() async throws {
    let (a, b, c) = (try bench.open("a"), try bench.open("b"), try bench.open("c"))
    try a.addPhoto("a", sample(1))
    try await a.exchange()
    try b.addPhoto("b", sample(1))
    try await b.exchange()
    for name in try bench.blobs(of: a) { try bench.write(bench.blobs + "/" + name, sample(2)) }
    try await c.pullAll()
    #expect(try c.content(of: "a") == sample(1))
  }

  @Test func `vanished contents come back from a device that has them`() async throws {
    let (a, b, c) = (try bench.open("a"), try bench.open("b"), try bench.open("c"))
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    try await b.pullAll()
    try a.close()
    try bench.remove(bench.blobs)
    try await c.pullAll()
    #expect(try c.photo("r").state == .missing)
    bench.options.tuning.blobQuietRounds = 1
    try b.close()
    let again = try bench.open("b")
    for _ in 0..<4 { try await again.pull() }
    #expect(try bench.blobs() == ["\(again.device)-\(SHA256.hash(sample(1)).hex).blob"])
    #expect(try await c.pull().fetchedAttachments == 1)
    #expect(try c.content(of: "r") == sample(1))
    // What no record refers to any more does not come back.
    try again.table("t").record("r")?.delete()
    try again.sync()
    try await again.exchange()
    try bench.remove(bench.blobs)
    for _ in 0..<4 { try await again.pull() }
    #expect(try bench.blobs() == [])
    // At once for who looks closely.
    try again.addPhoto("new", sample(3))
    try await again.exchange()
    try bench.remove(bench.blobs)
    let repair = try await again.repairFolder()
    #expect(try bench.blobs().count == 1)
    #expect(try repair.missing == bench.blobs() && repair.written == repair.missing)
    #expect(repair.isWhole && !repair.wasWhole)
  }

  @Test func `vanished contents come back also with one process for each round`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    try await b.pullAll()
    try a.close()
    try b.close()
    try bench.remove(bench.blobs)
    for round in 1...3 {
      #expect(try bench.blobs() == [], "round \(round)")
      let device = try bench.open("b")
      try await device.exchange()
      try device.close()
    }
    #expect(try bench.blobs().count == 1)
    // What came back has nothing more to be counted.
    let device = try bench.open("b")
    try await device.exchange()
    #expect(try BlobLedger.read(device.blobs).lost.isEmpty)
  }

  @Test func `a round that failed at a content is made up for by the next`() async throws {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    let b = try bench.open("b", hook)
    hook.set { request, path throws(CairnError) in
      if request == .list, path.contains("b-p-") { throw CairnError(.fileIO, "no", file: path) }
    }
    try await b.pull()
    #expect(try await b.pull().problems.count == 1)
    hook.set(nil)
    #expect(try await b.exchange().fetchedAttachments == 1)
  }

  @Test func `what was attached here makes no room before it is published under this name`()
    async throws
  {
    let (a, b) = (try bench.open("a", .onDemand), try bench.open("b"))
    try b.addPhoto("b", sample(1))
    try await b.exchange()
    let photo = try a.addPhoto("a", sample(1))
    // B may be about to remove its own.
    let early = await #expect(throws: CairnError.self) { try await photo.evict() }
    #expect(early?.code == .invalidOperation)
    try await a.exchange()
    #expect(try await photo.evict())
  }

  @Test func `foreign names and hostile references do no harm`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1))
    let wrong = BlobReference(length: 7, hash: SHA256.hash(sample(1)))
    try a.table("t").insert(["photo": .attachment(AttachmentID(wrong))], id: "wrong")
    let huge = BlobReference(length: BlobReference.lengthMax, hash: SHA256.hash([1]))
    try a.table("t").insert(["photo": .attachment(AttachmentID(huge))], id: "huge")
    try a.sync()
    try await a.exchange()
    try bench.write(bench.blobs + "/notes.txt", [1])
    try bench.write(bench.blobs + "/\(a.device)-xyz.blob", [1])
    let report = try await b.pullAll()
    #expect(report.problems.isEmpty && report.fetchedAttachments == 1)
    #expect(report.missingAttachments == 1 && report.skippedAttachments == 1)
    #expect(try b.photo("wrong").state == .missing)
    let error = await #expect(throws: CairnError.self) { try await b.photo("huge").fetch() }
    #expect(error?.code == .sizeLimit)
    #expect(try b.content(of: "r") == sample(1))
  }

  // MARK: policies

  @Test func `a device fetches what its policy says`() async throws {
    let a = try bench.open("a")
    let attachment = try a.addPhoto("r", sample(1))
    try await a.exchange()
    let demand = try bench.open("b", .onDemand)
    try await demand.pullAll()
    #expect(try demand.photo("r").state == .remote)
    let early = #expect(throws: CairnError.self) { _ = try demand.photo("r").bytes() }
    #expect(early?.code == .notFound)
    var read: [UInt8] = []
    for try await chunk in try demand.photo("r").chunks { read += chunk }
    #expect(read == sample(1))
    #expect(try demand.photo("r").state == .here)
    let never = try bench.open("c", .never)
    try await never.pullAll()
    let refused = await #expect(throws: CairnError.self) {
      try await never.photo("r").fetch()
    }
    #expect(refused?.code == .disallowed)
    #expect(try never.photo("r").state == .remote)
    let small = try bench.open("d", .upTo(bytes: 2999))
    try await small.pullAll()
    #expect(try small.photo("r").state == .remote)
    try await small.attachment(attachment.id).fetch()
    #expect(try small.content(of: "r") == sample(1))
    // It may change its mind.
    try never.close()
    let always = try bench.open("c", .always)
    #expect(try await always.pull().fetchedAttachments == 1)
  }

  @Test func `what is never fetched is not before the first round either`() async throws {
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    var b = try bench.open("b", .never)
    try await b.pullAll()
    try b.close()
    b = try bench.open("b", .never)
    let photo = try b.photo("r")
    let refused = await #expect(throws: CairnError.self) { try await photo.fetch() }
    #expect(refused?.code == .disallowed)
    #expect(try bench.contents("b").filter { $0.hasSuffix(".blob") } == [])
  }

  @Test func `higher priorities come first, and a round takes only so much`() async throws {
    let a = try bench.open("a")
    for index in 0..<6 { try a.addPhoto("r\(index)", sample(UInt64(index), 1000 + index)) }
    try await a.exchange()
    bench.options.tuning.blobRoundBytes = 2100
    let asked = Told<String>()
    let b = try bench.open(
      "b",
      AttachmentPolicy { use in
        asked.add("\(use.table)/\(use.record).\(use.field)")
        return use.record == "r4" ? .always(priority: 5) : use.record == "r5" ? .never
          : .always(priority: 0)
      })
    try await b.pull()
    var order: [Set<String>] = []
    for _ in 0..<4 {
      #expect(try await b.exchange().fetchedAttachments <= 2)
      var here: Set<String> = []
      for index in 0..<6 where try b.photo("r\(index)").state == .here { here.insert("r\(index)") }
      order.append(here)
    }
    #expect(order[0] == ["r4", "r0"] && order[1] == ["r4", "r0", "r1", "r2"])
    #expect(order[2] == ["r4", "r0", "r1", "r2", "r3"] && order[3] == order[2])
    #expect(Set(asked.all).isSuperset(of: ["t/r0.photo", "t/r5.photo"]))
  }

  @Test func `the first of all and the last of all are priorities, too`() async throws {
    let a = try bench.open("a")
    for index in 0..<3 { try a.addPhoto("r\(index)", sample(UInt64(index), 1000 + index)) }
    try await a.exchange()
    bench.options.tuning.blobRoundBytes = 1
    let priorities = ["r0": Int.min, "r1": 0, "r2": Int.max]
    let b = try bench.open(
      "b",
      AttachmentPolicy { use in .always(priority: priorities[use.record.description] ?? 0) })
    try await b.pull()
    for record in ["r2", "r1", "r0"] {
      #expect(try b.photo(record).state == .remote)
      #expect(try await b.exchange().fetchedAttachments == 1)
      #expect(try b.photo(record).state == .here)
    }
  }

  @Test func `a content makes room only if the folder has all of it`() async throws {
    let a = try bench.open("a", .onDemand)
    let photo = try a.addPhoto("r", sample(1))
    let early = await #expect(throws: CairnError.self) { try await photo.evict() }
    #expect(early?.code == .invalidOperation)
    try await a.exchange()
    let path = try bench.blobs + "/" + bench.blobs()[0]
    try bench.write(path, sample(2))
    let damaged = await #expect(throws: CairnError.self) { try await photo.evict() }
    #expect(damaged?.code == .invalidOperation)
    #expect(try photo.bytes() == sample(1))
    try bench.write(path, sample(1))
    #expect(try await photo.evict())
    #expect(try photo.state == .remote)
    #expect(try await !photo.evict())
    try await a.exchange()
    #expect(try photo.state == .remote)
    try await photo.fetch()
    #expect(try photo.bytes() == sample(1))
  }

  @Test func `contents that can't be had stop no deltas`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    try bench.remove(bench.blobs)
    try await b.pullAll()
    try a.add("next")
    try await a.exchange()
    let report = try await b.pull()
    #expect(report.fetchedDeltas == 1 && report.missingAttachments == 1)
    #expect(try b.ids() == ["r", "next"])
    #expect(b.status.downloadError == nil)
  }

  @Test func `a quiet folder with contents costs one request a round`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1))
    for _ in 0..<4 { for device in [a, b] { try await device.pull() } }
    for _ in 0..<8 {
      for device in [a, b] { #expect(try await device.exchange().requests == 1) }
    }
  }

  @Test func `who starts from a snapshot fetches what it names`() async throws {
    bench.options.tuning.smallFileBytes = 1000
    let a = try bench.open("a")
    for index in 0..<20 { try a.addPhoto("r\(index)", sample(UInt64(index), 300)) }
    try await a.exchange()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let b = try bench.open("b")
    #expect(try await b.pull().fetchedSnapshot)
    #expect(try await b.exchange().fetchedAttachments == 20)
    #expect(try b.content(of: "r7") == sample(7, 300))
    // Also in another process.
    let c = try bench.open("c")
    try await c.pull()
    try c.close()
    let again = try bench.open("c")
    #expect(try await again.exchange().fetchedAttachments == 20)
  }
}

/// Tells from where files are read in pieces.
private struct RangeFolder: Folder {
  let base: DirectoryFolder
  let read: Told<UInt64>

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    try await base.list(directory)
  }

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    try await base.read(path, limit: limit)
  }

  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    try await base.write(path, bytes)
  }

  func remove(_ path: String) async throws(CairnError) { try await base.remove(path) }

  func read(
    _ path: String, from offset: UInt64, _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool {
    read.add(offset)
    return try await base.read(path, from: offset, body)
  }
}
