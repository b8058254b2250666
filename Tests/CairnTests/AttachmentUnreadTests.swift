import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Contents that are here, and that the disk does not give when they are to be published.
@Suite struct AttachmentUnreadTests {
  private let bench = IdentityBench(seed: 61)

  /// A device whose disk does not give the contents that were attached there, as long as there is a
  /// reason.
  private func open(
    _ name: String, _ reason: Shared<DiskError.Reason?>
  ) throws -> Datastore {
    let disk = DeafDisk(base: bench.disk(name)) { path in
      path.hasSuffix(".own") ? reason.withLock { $0 } : nil
    }
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
