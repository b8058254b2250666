import Cairn
import CairnDisk
import TestSupport
import Testing

/// How much is asked of the folder, and how it is kept tidy.
@Suite struct FolderUpkeepTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  @Test func `a look at a quiet folder is one request`() async throws {
    let a = try await bench.publisher("a")
    let b = try await bench.publisher("b")
    for _ in 0..<3 { for device in [a, b] { try await device.pull() } }
    for _ in 0..<3 {
      for device in [a, b] {
        let report = try await device.exchange()
        #expect(report.requests == 1)
        #expect(report.isIdle)
        #expect(report.fetchedFiles == 0 && report.publishedFiles == 0)
        #expect(report.devices == 2)
      }
    }
  }

  @Test func `one commit costs its writer two writes and its reader two reads`() async throws {
    let a = try await bench.publisher("a")
    let b = try await bench.publisher("b")
    for _ in 0..<3 { for device in [a, b] { try await device.pull() } }
    try a.add("next")
    let written = try await a.exchange()
    #expect(written.requests == 3 && written.publishedFiles == 2 && written.publishedDeltas == 1)
    let fetched = try await b.exchange()
    #expect(fetched.requests == 3 && fetched.fetchedFiles == 1 && fetched.fetchedDeltas == 1)
  }

  @Test func `readers' acknowledgements come to an end`() async throws {
    let a = try await bench.publisher("a")
    let b = try await bench.publisher("b")
    try a.add("next")
    var rounds = 0
    var idle = 0
    while idle < 4, rounds < 40 {
      for device in [a, b] {
        idle = try await device.pull().isIdle ? idle + 1 : 0
        rounds += 1
      }
    }
    #expect(idle >= 4, "after \(rounds) rounds something is still published")
  }

  private func commitTwelve(_ a: Datastore) async throws -> Int {
    var merged = 0
    for index in 1...12 {
      try a.add("a\(index)")
      merged += try await a.exchange().mergedFiles
    }
    return merged
  }

  @Test func `small files are merged, and a device that joins then gets everything`() async throws {
    let a = try bench.open("a")
    let early = try bench.open("early")
    for index in 1...5 {
      try a.add("e\(index)")
      try await a.exchange()
    }
    try await early.pull()
    #expect(try await commitTwelve(a) > 0)
    let own = try #require(try await a.devices().first { $0.isThisDevice })
    #expect(own.publishedDeltas == 17 && own.files < 17)
    #expect(try bench.segments(a).count > own.files, "by default they stay for an hour")
    // Neither one that joins nor one that had some of the files misses or repeats anything.
    for device in [try bench.open("late"), early] {
      let report = try await device.exchange()
      #expect(report.problems == [] && report.waiting == [])
      let result = try device.sync()
      #expect(result.incorporated == (device === early ? 12 : 17))
      #expect(try content(device) == content(a))
      #expect(device.size == a.size)
    }
  }

  @Test func `a file that is larger than what would join it is not written again`() async throws {
    let a = try bench.open("a")
    let bulk = SeededRandom(1).bytes(100_000)
    for index in 0..<40 {
      try a.table("files").insert(["content": .bytes(index == 0 ? bulk : [UInt8(index)])])
      try a.sync()
      let report = try await a.exchange()
      if index == 0 {
        #expect(report.publishedBytes > 50_000, "these bytes can't be packed")
      } else {
        #expect(report.publishedBytes < 10_000)
      }
    }
    let own = try #require(try await a.devices().first { $0.isThisDevice })
    #expect(own.publishedDeltas == 40 && own.files < 20)
    let late = try bench.open("late")
    #expect(try await late.pull().complaints == [])
    #expect(try content(late) == content(a))
  }

  /// Packed they are small, and four of them are as much as a merged file gets.
  @Test func `files that pack well keep nobody from being merged, and are not read again`()
    async throws
  {
    bench.options.tuning.packBytes = 8000
    let a = try bench.open("a")
    for _ in 0..<8 {
      try a.table("t").insert(["text": .string(String(repeating: "x", count: 2000))])
      try a.sync()
      try await a.exchange()
    }
    let first = try #require(try await a.devices().first { $0.isThisDevice })
    #expect(first.publishedDeltas == 8 && first.files == 5)
    var requests: [Int] = []
    for index in 1...40 {
      try a.add("a\(index)")
      let report = try await a.exchange()
      if report.mergedFiles == 0 { requests.append(report.requests) }
    }
    #expect(requests.count > 30)
    // Where nothing is merged: a listing, a file, the head.
    #expect(requests == [Int](repeating: 3, count: requests.count))
    let own = try #require(try await a.devices().first { $0.isThisDevice })
    #expect(own.publishedDeltas == 48 && own.files < 20)
    let late = try bench.open("late")
    #expect(try await late.pull().complaints == [])
    #expect(try content(late) == content(a))
  }

  /// One that has as much by itself was written as it is.
  @Test func `a file that packs well is read once, and those behind it are merged`() async throws {
    bench.options.tuning.packBytes = 8000
    let a = try bench.open("a")
    try a.table("t").insert(["text": .string(String(repeating: "x", count: 9000))])
    try a.sync()
    try await a.exchange()
    var (requests, merged) = ([Int](), [Int]())
    for index in 1...8 {
      try a.add("a\(index)")
      let report = try await a.exchange()
      requests.append(report.requests)
      merged.append(report.mergedFiles)
    }
    // Of eight the first is full; of the next eight all are read, and one is written.
    #expect(requests.dropFirst() == [3, 3, 3, 3, 3, 4, 12])
    #expect(merged == [0, 0, 0, 0, 0, 0, 0, 8])
    let own = try #require(try await a.devices().first { $0.isThisDevice })
    #expect(own.publishedDeltas == 9 && own.files == 2)
    let late = try bench.open("late")
    #expect(try await late.pull().complaints == [])
    #expect(try content(late) == content(a))
  }

  /// 40 commits of 1000 bytes that can't be packed, an exchange after each.
  private func commitForty(
    _ a: Datastore, _ after: () async throws -> Void
  ) async throws {
    let random = SeededRandom(3)
    for _ in 0..<40 {
      try a.table("t").insert(["bytes": .bytes(random.bytes(1000))])
      try a.sync()
      try await a.exchange()
      try await after()
    }
  }

  @Test func `what a reader has is not merged with what it lacks and read again`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    for _ in 0..<2 { for device in [a, b] { try await device.pull() } }
    var (files, bytes) = (0, 0 as UInt64)
    try await commitForty(a) {
      let report = try await b.pull()
      #expect(report.fetchedDeltas == 1)
      files += report.fetchedFiles
      bytes += report.fetchedBytes
    }
    let own = try #require(try await a.devices().first { $0.isThisDevice })
    #expect(own.publishedDeltas == 40 && own.files < 20)
    // Of what is merged a part is news now and then.
    #expect(files == 40 && bytes < 80_000)
    #expect(try content(b) == content(a))
  }

  @Test func `a device that has fallen silent does not keep small files from being merged`()
    async throws
  {
    let a = try await bench.publisher("a")
    let silent = try await bench.publisher("silent")
    try await a.pull()
    try await commitForty(a) {}
    let own = try #require(try await a.devices().first { $0.isThisDevice })
    #expect(own.publishedDeltas == 41 && own.files < 20)
    #expect(try await silent.pull().complaints == [])
    #expect(try content(silent) == content(a))
  }

  @Test func `without a grace period merged files go in the next round`() async throws {
    bench.options.graceSeconds = 0
    let a = try bench.open("a")
    #expect(try await commitTwelve(a) > 0)
    for _ in 0..<2 { try await a.exchange() }
    let own = try #require(try await a.devices().first { $0.isThisDevice })
    #expect(try bench.segments(a).count == own.files)
    let b = try bench.open("b")
    #expect(try await b.pull().complaints == [])
    #expect(try content(b) == content(a))
  }

  @Test(arguments: [CairnError.Code.auth, .readOnly])
  func `where nothing may be removed all else goes on`(_ code: CairnError.Code) async throws {
    bench.options.graceSeconds = 0
    let hook = HookedFolder.Switch()
    let (a, b) = (try bench.open("a", hook), try bench.open("b"))
    let photo = try b.attach(SeededRandom(5).bytes(1000))
    try b.table("t").insert(["photo": photo.value], id: "photo")
    try b.sync()
    hook.fail([.remove], code)
    var (refusals, contents) = (0, 0)
    for index in 1...40 {
      try a.add("a\(index)")
      let report = try await a.pull()
      refusals += report.problems.count
      contents += report.fetchedAttachments
      if index == 20 { try await b.pull() }
    }
    #expect(a.publishedDeltas == a.committedDeltas && a.status.uploadError == nil)
    #expect((1...14).contains(refusals), "two at a time, ever more seldom: \(refusals)")
    #expect(contents == 1)
    try await b.pull()
    #expect(try b.ids() == a.ids())
    hook.set(nil)
    for _ in 0..<64 { try await a.exchange() }
    let own = try #require(try await a.devices().first { $0.isThisDevice })
    #expect(try bench.segments(a).count == own.files)
  }

  @Test(arguments: [CairnError.Code.auth, .retryLater])
  func `files that can't be removed keep no other ones`(_ code: CairnError.Code) async throws {
    bench.options.graceSeconds = 0
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    // The first two, for good.
    let stuck = Shared<Set<String>>([])
    hook.set { request, path throws(CairnError) in
      let isStuck = request == .remove && stuck.withLock { stuck in
        if stuck.count < 2 { stuck.insert(path) }
        return stuck.contains(path)
      }
      if isStuck { throw CairnError(code, "no", file: path) }
    }
    for index in 1...20 {
      try a.add("a\(index)")
      try await a.exchange()
    }
    for _ in 0..<40 { try await a.exchange() }
    let own = try #require(try await a.devices().first { $0.isThisDevice })
    #expect(try bench.segments(a).count == own.files + 2)
    #expect(stuck.withLock { $0.count } == 2 && a.publishedDeltas == a.committedDeltas)
  }

  @Test func `merging goes on after a restart and keeps the chain`() async throws {
    bench.options.graceSeconds = 0
    let b = try bench.open("b")
    for round in 0..<3 {
      let a = try bench.open("a")
      for index in 1...6 {
        try a.add("a\(round)-\(index)")
        try await a.exchange()
      }
      try a.close()
      #expect(try await b.pull().complaints == [])
    }
    #expect(try b.ids().count == 18)
    #expect(try bench.names(bench.shared, ".seg").count < 18)
  }

  /// So many records of random bytes, so that packing does not make them too little for a snapshot.
  private func grow(_ a: Datastore, _ prefix: String, by count: Int = 400) async throws {
    let random = SeededRandom(7)
    for index in 0..<count {
      try a.table("t").insert(
        ["bytes": .bytes(random.bytes(1000))], id: RecordID("\(prefix)\(index)"))
    }
    try a.sync()
    try await a.exchange()
  }

  @Test func `a snapshot is published when as much came as the last one has`() async throws {
    let a = try bench.open("a")
    try await grow(a, "r")
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    try await grow(a, "s", by: 350)
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot == false)
    // With these it is enough, and the exchange after them publishes the one that was made above.
    try await grow(a, "t", by: 100)
    #expect(try bench.names(bench.shared, ".snap").count == 2)
    #expect(try await a.exchange().isIdle)
  }

  /// Bytes of the log at home.
  private func logBytes(_ device: String) throws -> UInt64 {
    try PosixDisk().list(bench.root(device) + "/p-notes/log").reduce(0) { $0 + $1.info.size }
  }

  @Test func `what is published and in a published snapshot leaves the log`() async throws {
    bench.options.durability = .none
    var a = try bench.open("a")
    let random = SeededRandom(9)
    for index in 0..<60 {
      try a.table("t").insert(["bytes": .bytes(random.bytes(100_000))], id: RecordID("r\(index)"))
      try a.sync()
    }
    try a.compact()
    #expect(try logBytes("a") > 5_000_000, "nothing of it is published yet")
    #expect(try await a.exchange().publishedSnapshot)
    // A look has to find all of it there.
    #expect(try logBytes("a") > 5_000_000)
    #expect(try await a.exchange().isIdle)
    #expect(try logBytes("a") < 1_000_000)
    let before = try content(a)
    try a.close()
    a = try bench.open("a")
    #expect(a.recoveryNotes == [] && a.publishedDeltas == 60)
    #expect(try content(a) == before)
    try a.add("next")
    #expect(try await a.exchange().publishedDeltas == 1)
    // What the folder loses of it is in the snapshot.
    try bench.remove(bench.shared + "/" + bench.segments(a)[0])
    for _ in 0..<4 { try await a.exchange() }
    let b = try bench.open("b")
    for _ in 0..<3 { #expect(try await b.pull().problems == []) }
    #expect(try content(b) == content(a))
  }

  @Test func `a new device starts from a snapshot and keeps it over a restart`() async throws {
    let a = try bench.open("a")
    try await grow(a, "r")
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    try a.table("t")["r7"].delete()
    try a.table("t")["r8"].set("x", 1)
    try a.sync()
    try await a.exchange()
    var b = try bench.open("b")
    let report = try await b.exchange()
    #expect(report.fetchedSnapshot)
    #expect(try b.ids() == [], "fetched is not visible before sync")
    try b.sync()
    try await b.pull()
    for reopens in [false, true, true] {
      if reopens {
        try b.close()
        b = try bench.open("b")
        #expect(b.recoveryNotes == [])
      }
      #expect(try content(b) == content(a))
      #expect(b.size == a.size && b.recordCount == 399)
    }
    try b.add("b")
    try await b.exchange()
    try await a.pull()
    #expect(try a.ids().contains("b"))
  }

  @Test func `a device with changes of its own merges all deltas instead`() async throws {
    let a = try bench.open("a")
    try await grow(a, "r")
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let b = try bench.open("b")
    try b.add("b")
    let report = try await b.pull()
    #expect(!report.fetchedSnapshot)
    try await b.pull()
    try await a.pull()
    #expect(try content(b) == content(a))
    #expect(try b.ids().count == 401)
  }

  @Test func `changes made while a snapshot waits are kept`() async throws {
    let a = try bench.open("a")
    try await grow(a, "r")
    try a.compact()
    try await a.exchange()
    let b = try bench.open("b")
    #expect(try await b.exchange().fetchedSnapshot)
    try b.add("b")
    for _ in 0..<2 { try await b.pull() }
    try await a.pull()
    #expect(try b.ids().count == 401)
    #expect(try content(b) == content(a))
  }

  @Test func `fifty deltas made offline merge`() async throws {
    let a = try await bench.publisher("a")
    let b = try bench.open("b")
    try await b.pull()
    for index in 1...50 {
      try b.add("b\(index)")
      try b.table("t")["a"].set("n", .int(Int64(index)))
      try b.sync()
    }
    for index in 1...10 {
      try a.add("x\(index)")
      try await a.exchange()
    }
    #expect(b.committedDeltas == 100 && b.publishedDeltas == 0)
    let report = try await b.pull()
    #expect(report.publishedDeltas == 100 && report.fetchedDeltas == 10)
    #expect(b.publishedDeltas == 100 && !b.status.uploading)
    try await a.pull()
    #expect(try a.ids().count == 61)
    #expect(try a.table("t")["a"].int("n") == 50)
    #expect(try content(b) == content(a))
  }

  @Test func `a local datastore has nothing to exchange with`() async throws {
    let local = try DatastoreManager(root: bench.root("local")).openDefaultDatastore()
    for call in ["exchange", "start", "devices"] {
      do {
        switch call {
        case "exchange": _ = try await local.exchange()
        case "start": try local.startExchanging()
        default: _ = try await local.devices()
        }
        Issue.record("\(call) should fail")
      } catch {
        #expect(error.code == .invalidOperation && error.isProgrammingError)
      }
    }
  }
}
