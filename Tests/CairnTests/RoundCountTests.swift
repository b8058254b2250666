import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// What rounds say of themselves, while they go on and in the end.
@Suite struct RoundCountTests {
  private let bench: FolderWorkbench
  private let hook = HookedFolder.Switch()

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    bench.options.compactsAutomatically = false
    // A snapshot is due whenever there is one.
    bench.options.tuning.smallFileBytes = 0
  }

  private func size(of name: String) throws -> UInt64 {
    UInt64(try bench.read(bench.shared + "/" + name).count)
  }

  private func sizes(_ suffix: String) throws -> [UInt64] {
    try bench.names(bench.shared, suffix).map { try size(of: $0) }
  }

  // MARK: progress

  @Test func `what a round is going to fetch is known before the snapshot comes`() async throws {
    let a = try await bench.publisher("a")
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let first = try bench.segment(a)
    try a.add("later")
    try await a.exchange()
    let later = try #require(try bench.segments(a).first { $0 != first })
    let bytes = try sizes(".snap") + [size(of: later)]
    let b = try bench.open("b", hook)
    let told = Shared<TransferProgress.Amount?>(nil)
    hook.set { request, path in
      guard request == .read, path.hasSuffix(".snap") else { return }
      let fetched = b.progress.fetched
      told.withLock { $0 = fetched }
    }
    #expect(try await b.exchange().fetchedSnapshot)
    let amount = try #require(told.withLock { $0 })
    #expect(amount.files == 0 && amount.bytes == 0)
    #expect(amount.totalFiles == 2 && amount.totalBytes == bytes.reduce(0, +))
    #expect(b.progress.isIdle && b.progress.fetched.files == 2)
    hook.set(nil)
  }

  @Test func `nothing is on its way any more, nor stalled, when a round has failed`() async throws {
    let a = try bench.open("a")
    for id in ["1", "2", "3"] {
      try a.add(id)
      try await a.exchange()
    }
    let b = try bench.open("b", hook)
    let isDown = Flag()
    hook.set { request, path throws(CairnError) in
      if request == .read, path.hasSuffix(".seg") {
        isDown.raise()
        b.gauge.noteStalled(true)
      }
      guard isDown.isUp else { return }
      throw CairnError(.timeout, "no answer to the \(request) of \(path)", file: path)
    }
    #expect(await b.exchangeError()?.code == .timeout)
    #expect(b.progress.fetched.totalFiles == 3, "so much was to come")
    #expect(b.progress.isIdle && !b.progress.isStalled)
    hook.set(nil)
    try await b.pull()
    #expect(try b.ids() == ["1", "2", "3"])
    #expect(b.progress.isIdle && b.progress.fetched.files == 6)
  }

  // MARK: reports

  @Test func `a snapshot that is written counts among the files and bytes`() async throws {
    let a = try bench.open("a", hook)
    try a.add("a")
    try await a.exchange()
    try a.compact()
    let written = Told<String>()
    hook.set { request, path in
      if request == .write { written.add(String(path.split(separator: "/").last ?? "")) }
    }
    let report = try await a.exchange()
    #expect(report.publishedSnapshot && report.publishedDeltas == 0)
    #expect(written.all.map { $0.suffix(5) } == [".snap", ".head"].map { $0.suffix(5) })
    #expect(report.publishedFiles == 2)
    let bytes = try sizes(".snap") + sizes(".head")
    #expect(bytes.count == 2 && report.publishedBytes == bytes.reduce(0, +))
  }

  /// There is nothing else in the round: an app that syncs when something is incoming would never
  /// see what it has.
  @Test func `a snapshot that was fetched is incoming until a sync`() async throws {
    let a = try await bench.publisher("a")
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let b = try bench.open("b")
    #expect(!b.status.incoming)
    let report = try await b.exchange()
    #expect(report.fetchedSnapshot && report.fetchedFiles == 1)
    #expect(b.status.incoming)
    try b.sync()
    #expect(!b.status.incoming)
    #expect(try b.ids() == ["a"])
  }

  @Test func `what went over the network since a moment is the difference`() {
    var before = FolderTraffic()
    (before.requests, before.retries) = (5, 2)
    (before.sentBytes, before.receivedBytes) = (100, 1000)
    var after = FolderTraffic()
    (after.requests, after.retries) = (12, 5)
    (after.sentBytes, after.receivedBytes) = (111, 1500)
    let since = after.since(before)
    #expect(since.requests == 7 && since.retries == 3)
    #expect(since.sentBytes == 11 && since.receivedBytes == 500)
    #expect(after.since(after) == FolderTraffic())
  }
}
