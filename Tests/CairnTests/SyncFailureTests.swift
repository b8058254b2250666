import Cairn
import CairnDisk
import TestSupport
import Testing

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
