import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import Cairn

/// Times out of files, and those of files, may be any number, under good checksums too. One at the
/// beginning of time was long ago: nothing else comes of it.
@Suite struct StoredTimeTests {
  private let day: Int64 = 86_400_000
  private let hash = SHA256.hash(sample(1))

  // MARK: the doctor

  /// The same file of deltas, all of them made at another time.
  private func forged(_ bytes: [UInt8], time: Int64) throws -> (bytes: [UInt8], name: String) {
    let datastore = DatastoreManager.identity(of: "notes", generation: 0)
    var segment = try PublishedSegment(bytes, name: "forged", datastore: datastore)
    var reader = try PackReader(segment.pack)
    var writer = PackWriter(device: reader.header.device, first: reader.header.first)
    var delta = Delta()
    var map: [UInt32] = []
    while try reader.next(into: &delta) {
      delta.time = time
      writer.append(delta, heap: reader.heap, names: reader.records, map: &map)
    }
    segment.pack = writer.bytes()
    return segment.encoded()
  }

  @Test func `a device whose newest delta is of the beginning of time has a wrong clock`()
    async throws
  {
    let bench = try FolderWorkbench()
    bench.options.compactsAutomatically = false
    let a = try await bench.publisher("a")
    let b = try await bench.publisher("b")
    let device = b.device
    let headPath = bench.shared + "/" + bench.head(b)
    let datastore = DatastoreManager.identity(of: bench.id, generation: 0)
    var head = try Head(try bench.read(headPath), name: headPath, datastore: datastore)
    let last = try #require(head.segments.last)
    let path = bench.shared + "/" + last.name(head.device)
    try a.close()
    try b.close()

    let (bytes, name) = try forged(try bench.read(path), time: .min)
    let published = try #require(FileName.published(name))
    try bench.remove(path)
    try bench.write(bench.shared + "/" + name, bytes)
    head.segments[head.segments.count - 1].size = UInt64(bytes.count)
    head.segments[head.segments.count - 1].hash = published.hash
    try bench.write(headPath, head.encoded())

    let account = Account(user: "ann", folder: .directory(bench.folder))
    let report = await Doctor(root: bench.root("a"), account: account).examine()
    let found = report.findings.filter { $0.check == "devices" }
    #expect(found.map(\.severity) == [.warning], "\(found)")
    let warning = try #require(found.first)
    #expect(warning.message.hasPrefix("the clock of device \(device)"), "\(warning)")
    #expect(warning.message.contains("was years behind"), "\(warning)")
    #expect(warning.command == nil, "it is not gone for that")
  }

  // MARK: what is left of deleted datastores

  @Test func `contents that have waited since the beginning of time go`() async throws {
    let bench = CatalogueBench()
    let a = bench.manager("a")
    try await a.with("n") { _ = try $0.addPhoto("r", [1, 2, 3]) }
    try await a.refresh()
    try a.deleteDatastore("n")
    for _ in 0..<4 { try await a.refresh() }
    #expect(bench.files("/folder/b-p-n").count == 1)

    // Otherwise the file would look as it did when it was last read.
    bench.clock.advance(by: day)
    let path = "/a/" + FileName.installation
    var file = try InstallationFile(try #require(bench.disk.bytes(path)), path: path)
    let own = try #require(file.waiting.keys.first)
    #expect(own.id == "n" && file.waiting.count == 1)
    file.waiting[own] = .min
    try bench.disk.setBytes(path, file.encoded())

    #expect(try await a.refresh().removedFiles == 1)
    #expect(bench.files("/folder/b-p-n") == [])
    for _ in 0..<2 { try await a.refresh() }
    let left = try InstallationFile(try #require(bench.disk.bytes(path)), path: path)
    #expect(left.devices == [] && left.waiting == [:])
  }

  // MARK: contents of attachments

  /// The file may not say so; what this process remembers is by a clock that may have.
  @Test func `contents that are unused since the beginning of time go`() async throws {
    let bench = IdentityBench(seed: 31)
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    try a.table("t").record("r")?.delete()
    try a.sync()
    #expect(try await a.collectAttachments().waiting > 0)
    let entry = try #require(a.blobs.ledger.unused[hash])
    #expect(entry.known == bench.clock.now())
    try a.blobs.changeLedger { ledger in
      ledger.unused[hash]?.since = .min
      ledger.unused[hash]?.known = .min
    }
    let result = try await a.collectAttachments()
    #expect(result.removedHere == 1 && result.removedInFolder == 1, "\(result)")
    #expect(!bench.folder.paths().contains { $0.hasSuffix(".blob") })
    try a.close()
  }

  @Test func `contents that were last looked at at the beginning of time are due`() async throws {
    let bench = IdentityBench(seed: 32)
    var a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    _ = try await a.collectAttachments()
    try a.close()
    a = try bench.open("a")
    #expect(a.blobs.ledger.looked == bench.clock.now())
    try a.blobs.changeLedger { $0.looked = .min }
    try await a.exchange()
    #expect(a.blobs.ledger.looked == bench.clock.now())
    #expect(try a.content(of: "r") == sample(1))
    try a.close()
  }

  @Test func `what was attached at the beginning of time is waited for no more`() async throws {
    let bench = IdentityBench(seed: 33)
    let now = bench.clock.now()
    let a = try bench.open("a")
    try a.add("first")
    try await a.exchange()
    bench.clock.set(.min)
    _ = try a.attach(sample(1))
    bench.clock.set(now)
    _ = try a.attach(sample(2))
    #expect(try await a.collectAttachments().removedHere == 1)
    #expect(Array(a.blobs.pinned.keys) == [SHA256.hash(sample(2))])
    try a.close()
  }

  // MARK: times of files

  @Test func `a part of a content that is as old as time goes, and a fresh one stays`()
    async throws
  {
    let bench = IdentityBench(seed: 34)
    let now = bench.clock.now()
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    let disk = bench.disk("a")
    let parts = ([7, 8] as [UInt64]).map {
      a.blobs.directory + "/" + FileName.blobPart(SHA256.hash(sample($0)))
    }
    bench.clock.set(.min)
    try disk.setBytes(parts[0], sample(7, 100))
    bench.clock.set(now)
    try disk.setBytes(parts[1], sample(8, 100))
    _ = try await a.collectAttachments()
    #expect(disk.bytes(parts[0]) == nil)
    #expect(disk.bytes(parts[1]) == sample(8, 100))
    #expect(try a.content(of: "r") == sample(1))
    try a.close()
  }

  @Test func `a part of a content from when the clock was ahead goes, and a fresh one stays`()
    async throws
  {
    let bench = IdentityBench(seed: 35)
    let now = bench.clock.now()
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    let disk = bench.disk("a")
    let parts = ([7, 8] as [UInt64]).map {
      a.blobs.directory + "/" + FileName.blobPart(SHA256.hash(sample($0)))
    }
    for (index, days) in ([70 * 365, 1] as [Int64]).enumerated() {
      bench.clock.set(now + days * day)
      try disk.setBytes(parts[index], sample(7, 100))
    }
    bench.clock.set(now)
    _ = try await a.collectAttachments()
    #expect(disk.bytes(parts[0]) == nil)
    #expect(disk.bytes(parts[1]) == sample(7, 100))
    #expect(try a.content(of: "r") == sample(1))
    try a.close()
  }

  @Test func `a staging directory that is as old as time goes, and a fresh one stays`() throws {
    let clock = ManualClock()
    let now = clock.now()
    let disk = MemoryDisk(clock: clock)
    let old = "/r/" + FileName.staging(7, "p-x") + "/CURRENT"
    let fresh = "/r/" + FileName.staging(8, "p-y") + "/CURRENT"
    clock.set(.min)
    try disk.setBytes(old, [1])
    clock.set(now)
    try disk.setBytes(fresh, [2])
    Trash(root: "/r", machine: Machine(disk: disk, clock: clock, random: SeededRandom(1))).purge()
    #expect(disk.paths() == [fresh])
  }

  @Test func `an upload that was cut off at the beginning of time is alone in a folder, and stays`()
    async throws
  {
    let clock = ManualClock()
    let now = clock.now()
    let disk = MemoryDisk(clock: clock)
    let name = FileName.temporary(7)
    clock.set(.min)
    try disk.setBytes("/folder/" + name, [1])
    clock.set(now)
    let folder = DirectoryFolder(
      "/folder", machine: Machine(disk: disk, clock: clock, random: SeededRandom(1)))
    _ = try await folder.list("")
    #expect(disk.paths() == ["/folder/" + name], "one clock that is wrong is not enough")
    try disk.setBytes("/folder/a.head", [2])
    _ = try await folder.list("")
    #expect(disk.paths() == ["/folder/a.head"])
  }

  @Test func `bad files of the beginning of time are kept until there is a newer one`() throws {
    let clock = ManualClock()
    let now = clock.now()
    let disk = MemoryDisk(clock: clock)
    let quarantine = Quarantine(
      directory: "/q", machine: Machine(disk: disk, clock: clock, random: SeededRandom(1)))
    clock.set(.min)
    quarantine.keep("x.head", [1], reason: "bad")
    #expect(disk.paths().count == 2)
    clock.set(now)
    quarantine.keep("x.head", [2], reason: "bad")
    let kept = disk.paths().filter { $0.hasSuffix(".bad") }
    #expect(kept.map { disk.bytes($0) } == [[2]])
  }
}
