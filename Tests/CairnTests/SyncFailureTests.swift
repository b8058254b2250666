import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// An app is told that a commit is not durable, and not that something may be tried again.
@Suite struct SyncFailureTests {
  @Test(arguments: [DiskError.Reason.io(errno: 5), .noSpace, .readOnly])
  func `a sync that the disk fails says so, whatever the disk says`(
    reason: DiskError.Reason
  ) throws {
    let bench = IdentityBench()
    let datastore = try bench.open("a")
    try datastore.add("durable")
    bench.disk("a").intercept { $0.verb == "sync" ? reason : nil }
    let error = failure { try datastore.add("not-durable") }
    #expect(error?.code == .syncFailed)
    #expect(error?.file?.contains("/log/") == true)
    bench.disk("a").heal()
    #expect(code { try datastore.add("later") } == .syncFailed)
    #expect(code { try datastore.close() } == .syncFailed)
    #expect(try bench.open("a").ids().contains("durable"))
  }

  /// INFO outlasts the end of a log whose sync has failed: an inspection would say that the log has
  /// lost what nobody was told of.
  @Test(arguments: [Options.Durability.full, .periodic(seconds: 3600)])
  func `what lists show knows of no commit that the disk may not have`(
    durability: Options.Durability
  ) throws {
    let bench = IdentityBench()
    bench.options.durability = durability
    let datastore = try bench.open("a")
    try datastore.add("durable")
    try datastore.close()
    let directory = "/root/p-notes"
    let before = try #require(try InfoFile.read(directory, disk: bench.disk("a")))
    let again = try bench.open("a")
    // With this one what was found is durable, and the first one is due at once.
    try again.add("due")
    bench.disk("a").intercept {
      $0.verb == "sync" && $0.path.contains("/log/") ? .io(errno: 5) : nil
    }
    if durability == .full {
      #expect(code { try again.add("not-durable") } == .syncFailed)
    } else {
      try again.add("acknowledged-and-not-durable")
    }
    #expect(code { try again.close() } == .syncFailed)
    #expect(try InfoFile.read(directory, disk: bench.disk("a")) == before)
    bench.disk("a").heal()
    try bench.open("a").close()
    let after = try #require(try InfoFile.read(directory, disk: bench.disk("a")))
    #expect(after.view.deltas == before.view.deltas + 2)
  }

  /// One that was killed between a write and its sync, and is opened again, has a commit that only
  /// the system's memory has: it is made durable before INFO tells of it.
  @Test func `what was recovered is durable before lists show it`() async throws {
    let bench = IdentityBench()
    let datastore = try bench.open("a")
    try datastore.add("durable")
    bench.disk("a").intercept {
      $0.verb == "sync" && $0.path.contains("/log/") ? .io(errno: 5) : nil
    }
    #expect(code { try datastore.add("written") } == .syncFailed)
    let home = bench.disk("a").snapshot()
    bench.use(home, for: "a")
    let again = try bench.open("a")
    #expect(try again.ids() == ["durable", "written"])
    let info = try #require(try InfoFile.read("/root/p-notes", disk: home))
    try again.close()
    bench.use(home.crash(keep: .nothingUnsynced), for: "a")
    let last = try bench.open("a")
    #expect(UInt64(last.committedDeltas) >= info.ownDeltas)
  }

  // MARK: torn

  /// A device whose snapshot is on the disk, with edits of another one that are fetched and not
  /// taken in yet.
  private func fetched() async throws -> (home: MemoryDisk, folder: MemoryDisk) {
    let bench = IdentityBench()
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    let random = SeededRandom(3)
    for number in 0..<200 {
      let fields: [String: Value] = ["b": .bytes(random.bytes(2000)), "n": 1]
      try b.table("t").insert(fields: fields, id: RecordID("r\(number)"))
      if number % 20 == 19 { try b.sync() }
    }
    #expect(try await bench.settle([a, b]))
    try a.compact()
    for number in stride(from: 0, to: 200, by: 25) {
      try b.table("t")[RecordID("r\(number)")].set("n", 2)
    }
    try b.sync()
    try await b.exchange()
    try await a.exchange()
    try a.close()
    return (bench.disk("a"), bench.folder)
  }

  @Test func `after a merge that was torn the status says that there is something to upload`()
    async throws
  {
    let (home, folder) = try await fetched()
    var torn = 0
    for read in 1...1000 {
      let bench = IdentityBench()
      bench.options.cacheBytes = 0
      bench.use(home.snapshot(), for: "a")
      bench.useFolder(folder.snapshot())
      let a = try bench.open("a")
      try a.table("t").insert(["n": 3], id: "own")
      let disk = bench.disk("a")
      disk.failAt(read: disk.reads + read, reason: .io(errno: 5))
      let error = failure { try a.sync() }
      let isOver = disk.strikeCount == 0
      disk.heal()
      if error?.code == .syncFailed {
        torn += 1
        #expect(a.committedDeltas == 1 && a.publishedDeltas == 0, "read \(read)")
        #expect(a.status.uploading && !a.status.outgoing, "read \(read)")
        try a.close()
        #expect(a.status.uploading && !a.status.outgoing, "read \(read)")
      }
      if isOver { break }
    }
    #expect(torn > 0)
  }
}
