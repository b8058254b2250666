import CairnBytes
import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Two devices that have the same snapshot: the second one compares what the first has published
/// with its own, and vouches for it, too.
@Suite struct SnapshotVouchingTests {
  private let bench: FolderWorkbench
  private let hook = HookedFolder.Switch()

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    // Due whenever there is one.
    bench.options.tuning.smallFileBytes = 0
  }

  /// The second device, which is about to compare, and the snapshot's name.
  private func second() async throws -> (b: Datastore, name: String) {
    let all = try await both()
    return (all.b, all.name)
  }

  private func both() async throws -> (a: Datastore, b: Datastore, name: String) {
    let (a, b) = (try await bench.publisher("a"), try bench.open("b", hook))
    try b.add("b")
    try await bench.meet(a, b)
    try a.compact()
    try b.compact()
    #expect(try await a.exchange().publishedSnapshot)
    try b.add("later")
    let names = try bench.names(bench.shared, ".snap")
    try #require(names.count == 1)
    return (a, b, names[0])
  }

  /// The snapshot as another version of the packer would have packed it, for which a device
  /// vouches; what its bytes are now.
  private func packAnew(_ name: String, for device: Datastore) throws -> [UInt8] {
    let (path, place) = (bench.shared + "/" + name, bench.shared + "/" + bench.head(device))
    let bytes = try bench.read(path) + [1, 2, 3]
    try bench.write(path, bytes)
    var head = try Head(try bench.read(place), name: place, datastore: nil)
    try #require(head.snapshot?.name == name)
    head.snapshot?.size = UInt64(bytes.count)
    head.snapshot?.content = XXH3.hash128(bytes)
    try bench.write(place, head.encoded())
    return bytes
  }

  /// How often it is read from now on, with what.
  private func watch(_ name: String, _ code: CairnError.Code? = nil) -> Told<String> {
    let reads = Told<String>()
    hook.set { request, path throws(CairnError) in
      guard request == .read, path.hasSuffix(name) else { return }
      reads.add(path)
      if let code { throw CairnError(code, "no", file: path) }
    }
    return reads
  }

  @Test func `the same one is vouched for`() async throws {
    let (b, name) = try await second()
    let reads = watch(name)
    let report = try await b.exchange()
    #expect(report.publishedSnapshot && report.publishedDeltas == 1)
    #expect(try await b.exchange().publishedSnapshot == false)
    #expect(reads.all.count == 1)
  }

  @Test(arguments: [CairnError.Code.network, .timeout, .noConnection])
  func `a connection that breaks while it is read leaves it for the next round`(
    code: CairnError.Code
  ) async throws {
    let (b, name) = try await second()
    let reads = watch(name, code)
    #expect(await b.exchangeError()?.code == code)
    #expect(reads.all.count == 1)
    hook.set(nil)
    #expect(try await b.exchange().publishedSnapshot)
  }

  @Test(arguments: [CairnError.Code.auth, .server])
  func `one that is not given stops nobody, and is asked for ever more seldom`(
    code: CairnError.Code
  ) async throws {
    var (b, name) = try await second()
    let reads = watch(name, code)
    let report = try await b.exchange()
    #expect(report.problems.map(\.name) == [name])
    #expect(report.publishedDeltas == 1 && !report.publishedSnapshot)
    for _ in 0..<15 { #expect(try await b.exchange().publishedSnapshot == false) }
    #expect((2...12).contains(reads.all.count), "\(reads.all.count)")
    // Each process may have one round only.
    try b.close()
    b = try bench.open("b", hook)
    try b.add("last")
    #expect(try await b.exchange().publishedDeltas == 1)
    hook.set(nil)
    var isVouched = false
    for _ in 0..<4 { isVouched = try await b.exchange().publishedSnapshot || isVouched }
    #expect(isVouched)
  }

  @Test func `one that is something else is read once, and not vouched for`() async throws {
    let (b, name) = try await second()
    let path = bench.shared + "/" + name
    try bench.write(path, try bench.read(path).flipped(at: 200))
    let reads = watch(name)
    for _ in 0..<5 { #expect(try await b.exchange().publishedSnapshot == false) }
    #expect(reads.all.count == 1)
  }

  @Test(arguments: [CairnError.Code.fileIO, .notFound])
  func `one that can't be read just once is compared in the next round`(
    code: CairnError.Code
  ) async throws {
    let (b, name) = try await second()
    let reads = watch(name, code)
    let report = try await b.exchange()
    #expect(report.problems.map(\.name) == [name])
    #expect(report.publishedDeltas == 1 && !report.publishedSnapshot)
    #expect(reads.all.count == 1)
    hook.set(nil)
    let next = try await b.exchange()
    #expect(next.publishedSnapshot && next.problems == [])
  }

  @Test func `one that can't be read is compared ever more seldom, and in the end`() async throws {
    let (b, name) = try await second()
    let reads = watch(name, .fileIO)
    for _ in 1...16 { #expect(try await b.exchange().publishedSnapshot == false) }
    // In the rounds 1, 2, 4, 8 and 16.
    #expect(reads.all.count == 5)
    hook.set(nil)
    var isVouched: [Bool] = []
    for _ in 1...16 { isVouched.append(try await b.exchange().publishedSnapshot) }
    #expect(isVouched == [Bool](repeating: false, count: 15) + [true])
  }

  /// What is in no segment any more is also in an older one, for which a device vouches that only
  /// reads.
  @Test func `a new device comes to an older one where the newest is rotten`() async throws {
    let a = try await bench.publisher("a")
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let older = try #require(try bench.names(bench.shared, ".snap").first)
    let reader = try bench.open("reader")
    #expect(try await reader.pull().fetchedSnapshot)
    #expect(try await reader.exchange().publishedSnapshot)
    let large = SeededRandom(8).bytes(100_000)
    try a.table("t").insert(["bytes": .bytes(large)], id: "large")
    try a.sync()
    try await a.exchange()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let newest = try #require(try bench.names(bench.shared, ".snap").first { $0 != older })
    let place = bench.shared + "/" + bench.head(a)
    var head = try Head(try bench.read(place), name: place, datastore: nil)
    try #require(head.segments.map(\.last) == [1, 2] && head.snapshot?.name == newest)
    let lost = head.segments.removeFirst()
    try bench.write(place, head.encoded())
    try bench.remove(bench.shared + "/" + lost.name(head.device))
    let path = bench.shared + "/" + newest
    try bench.write(path, try bench.read(path).flipped(at: 200))
    let b = try bench.open("b")
    var reports: [ExchangeReport] = []
    for _ in 1...4 { reports.append(try await b.pull()) }
    // It is asked for twice, then the older one has its turn.
    #expect(reports.map(\.fetchedSnapshot) == [false, false, true, false])
    #expect(reports.map { $0.problems.map(\.name) } == [[newest], [newest], [newest], []])
    #expect(try content(b) == content(a))
  }

  @Test func `one for which two vouch, and that is not given, counts once a round`() async throws {
    let (b, name) = try await second()
    #expect(try await b.exchange().publishedSnapshot)
    let c = try bench.open("c", hook)
    let reads = Told<String>()
    hook.set { request, path throws(CairnError) in
      guard request == .read, path.hasSuffix(name) || path.hasSuffix(".seg") else { return }
      if path.hasSuffix(name) { reads.add(path) }
      throw CairnError(.auth, "no", file: path)
    }
    for round in 1...8 {
      let problems = try await c.exchange().problems
      #expect(problems.count { $0.name == name } == 1, "round \(round): \(problems)")
    }
    // In the first round, then 1, 2 and 4 rounds later.
    #expect(reads.all.count == 4)
  }

  @Test func `one that another device has packed to another size is left as it is`() async throws {
    let (a, b, name) = try await both()
    let bytes = try packAnew(name, for: a)
    let writes = Told<String>()
    hook.set { request, path in
      if request == .write, path.hasSuffix(".snap") { writes.add(path) }
    }
    for _ in 0..<5 {
      let report = try await b.exchange()
      #expect(!report.publishedSnapshot && report.problems == [])
    }
    #expect(writes.all == [])
    #expect(try bench.read(bench.shared + "/" + name) == bytes)
  }

  @Test func `who finds another device's in the place of its own vouches for none`() async throws {
    let (a, b, name) = try await both()
    #expect(try await b.exchange().publishedSnapshot)
    try b.close()
    let bytes = try packAnew(name, for: b)
    for _ in 0..<6 { #expect(try await a.exchange().problems == []) }
    #expect(try bench.read(bench.shared + "/" + name) == bytes)
    let head = try #require(a.exchanger).memory.withLock { $0.own }
    #expect(head.snapshot == nil && head.gaps == [])
    let report = try await a.exchange()
    #expect(report.isIdle && !report.publishedSnapshot)
  }
}
