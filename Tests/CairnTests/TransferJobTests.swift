import CairnBytes
import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Several transfers at once: each has a rest of its own, and what is shown is the sum.
@Suite(.timeLimit(.minutes(20)))
struct TransferJobTests {
  private let gauge = TransferGauge()
  private let one: TransferJob
  private let other: TransferJob

  init() { (one, other) = (TransferJob(gauge), TransferJob(gauge)) }

  private var fetched: TransferProgress.Amount { gauge.current.fetched }
  private var published: TransferProgress.Amount { gauge.current.published }

  private func amount(
    _ files: Int, of totalFiles: Int, _ bytes: UInt64, of totalBytes: UInt64
  ) -> TransferProgress.Amount {
    var amount = TransferProgress.Amount()
    (amount.files, amount.totalFiles) = (files, totalFiles)
    (amount.bytes, amount.totalBytes) = (bytes, totalBytes)
    return amount
  }

  @Test func `a loop begins with the progress as it is then`() async {
    let updates = gauge.updates
    var first = updates.makeAsyncIterator()
    #expect(await first.next() == TransferProgress())
    gauge.change { $0.fetched.files = 3 }
    var second = updates.makeAsyncIterator()
    #expect(await second.next()?.fetched.files == 3)
    #expect(await first.next()?.fetched.files == 3)
  }

  @Test func `what two jobs plan adds up, and the end of one leaves the other's rest`() {
    one.begin()
    one.planFetch(files: 3, bytes: 300)
    other.begin()
    other.planFetch(files: 1, bytes: 50)
    #expect(fetched == amount(0, of: 4, 0, of: 350))
    // The same once more.
    one.planFetch(files: 3, bytes: 300)
    other.noteFetched(bytes: 20)
    #expect(fetched == amount(0, of: 4, 20, of: 350))
    other.end()
    #expect(fetched == amount(1, of: 4, 50, of: 350) && !gauge.current.isIdle)
    one.noteFetched(files: 1, bytes: 120)
    #expect(fetched == amount(2, of: 4, 170, of: 350))
    // Two are left, and one more has come up.
    one.planFetch(files: 3, bytes: 200)
    #expect(fetched == amount(2, of: 5, 170, of: 370))
    // More than was planned.
    one.noteFetched(files: 1, bytes: 210)
    #expect(fetched == amount(3, of: 5, 380, of: 380))
    one.end()
    #expect(fetched == amount(5, of: 5, 380, of: 380) && gauge.current.isIdle)
    one.begin()
    one.planFetch(files: 1, bytes: 1)
    #expect(fetched == amount(5, of: 6, 380, of: 381))
    one.end()
    #expect(gauge.current.isIdle)
  }

  @Test func `what is to come later belongs to one job`() {
    one.begin()
    other.begin()
    one.expectLater(files: 2, bytes: 20)
    other.planPublish(files: 1, bytes: 5)
    #expect(published == amount(0, of: 1, 0, of: 5))
    one.planPublish(files: 1, bytes: 10)
    #expect(published == amount(0, of: 4, 0, of: 35))
    other.notePublished(files: 1, bytes: 5)
    other.end()
    #expect(published == amount(1, of: 4, 5, of: 35))
    one.notePublished(files: 1, bytes: 10)
    one.planPublish(files: 1, bytes: 10)
    #expect(published == amount(2, of: 5, 15, of: 45))
    one.end()
    #expect(gauge.current.isIdle)
  }

  @Test func `while one is under way it may be stalled`() {
    one.begin()
    other.begin()
    gauge.noteStalled(true)
    one.end()
    #expect(gauge.current.isStalled)
    other.end()
    #expect(!gauge.current.isStalled)
  }

  @Test(arguments: 1...20)
  func `no number ever falls, and none is above its total`(_ seed: UInt64) {
    let random = SeededRandom(seed)
    let jobs = (0..<3).map { _ in TransferJob(gauge) }
    for job in jobs { job.begin() }
    var last = gauge.current
    for _ in 0..<300 {
      let job = jobs[random.below(3)]
      let (files, bytes) = (random.below(4), UInt64(random.below(100)))
      switch random.below(10) {
      case 0...2: job.planFetch(files: files, bytes: bytes)
      case 3...4: job.noteFetched(files: files, bytes: bytes)
      case 5...6: job.planPublish(files: files, bytes: bytes)
      case 7: job.notePublished(files: files, bytes: bytes)
      case 8: job.expectLater(files: files, bytes: bytes)
      default:
        job.end()
        job.begin()
      }
      let now = gauge.current
      for way in [\TransferProgress.fetched, \.published] {
        let (old, new) = (last[keyPath: way], now[keyPath: way])
        #expect(new.files >= old.files && new.totalFiles >= old.totalFiles)
        #expect(new.bytes >= old.bytes && new.totalBytes >= old.totalBytes)
        #expect(new.files <= new.totalFiles && new.bytes <= new.totalBytes)
      }
      last = now
    }
    for job in jobs { job.end() }
    #expect(gauge.current.isIdle)
  }

  // MARK: a round, and somebody who asks for a content

  private func ending(_ bytes: [UInt8]) -> String { "\(SHA256.hash(bytes).hex).blob" }

  @Test(arguments: ["round", "fetch"])
  func `a content that is fetched beside a round counts besides`(first: String) async throws {
    let (bench, gate) = (try FolderWorkbench(), FarFolder.Gate())
    let (small, large) = (sample(1, 300), sample(2, 900))
    let a = try bench.open("a")
    try a.addPhoto("small", small)
    try a.addPhoto("large", large)
    try await a.exchange()
    bench.options.attachments = .upTo(bytes: 500)
    let b = try bench.open("b", gate)
    try await b.pull()
    let before = b.progress.fetched
    #expect(b.progress.isIdle)
    gate.shut(ending(small))
    gate.shut(ending(large))
    let round = Task { try await b.exchange() }
    while gate.waiting < 1 { await Task.yield() }
    #expect(b.progress.fetched.totalFiles == before.totalFiles + 1)
    let fetch = Task { try await b.photo("large").fetch() }
    while gate.waiting < 2 { await Task.yield() }
    #expect(b.progress.fetched.totalFiles == before.totalFiles + 2)
    #expect(b.progress.fetched.totalBytes == before.totalBytes + 1200)
    #expect(b.progress.fetched.bytes == before.bytes)
    if first == "round" {
      gate.open(ending(small))
      #expect(try await round.value.fetchedAttachments == 1)
    } else {
      gate.open(ending(large))
      try await fetch.value
    }
    #expect(b.progress.fetched.files == before.files + 1 && !b.progress.isIdle)
    #expect(b.progress.fetched.bytes == before.bytes + (first == "round" ? 300 : 900))
    gate.open(ending(small))
    gate.open(ending(large))
    try await fetch.value
    _ = try await round.value
    #expect(b.progress.isIdle && b.progress.fetched.files == before.files + 2)
    #expect(b.progress.fetched.bytes == before.bytes + 1200)
  }

  @Test func `a content that a round waits for with somebody else counts once`() async throws {
    let (bench, gate) = (try FolderWorkbench(), FarFolder.Gate())
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1, 300))
    try await a.exchange()
    let b = try bench.open("b", gate)
    try await b.pull()
    let before = b.progress.fetched
    gate.shut(".blob")
    let fetch = Task { try await b.photo("r").fetch() }
    while gate.waiting < 1 { await Task.yield() }
    let round = Task { try await b.exchange() }
    while b.exchanger?.blobs?.flights.withLock({ $0.values.first?.waiting }) != 2 {
      await Task.yield()
    }
    #expect(b.progress.fetched.totalFiles == before.totalFiles + 1)
    #expect(b.progress.fetched.totalBytes == before.totalBytes + 300)
    gate.open(".blob")
    try await fetch.value
    _ = try await round.value
    #expect(b.progress.isIdle && b.progress.fetched.bytes == before.bytes + 300)
  }

  @Test func `a round says from its beginning how many contents it takes`() async throws {
    let (bench, gate) = (try FolderWorkbench(), FarFolder.Gate())
    let a = try bench.open("a")
    for (number, count) in [300, 400, 900].enumerated() {
      try a.addPhoto("r\(number)", sample(UInt64(number), count))
    }
    try await a.exchange()
    bench.options.tuning.blobRoundBytes = 800
    let b = try bench.open("b", gate)
    try await b.pull()
    let before = b.progress.fetched
    gate.shut(".blob")
    let round = Task { try await b.exchange() }
    while gate.waiting < 1 { await Task.yield() }
    #expect(b.progress.fetched.totalFiles == before.totalFiles + 2)
    #expect(b.progress.fetched.totalBytes == before.totalBytes + 700)
    gate.open(".blob")
    #expect(try await round.value.fetchedAttachments == 2)
  }
}
