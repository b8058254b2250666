import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// What people are told of agreements and of devices that are left out, and what is refused.
@Suite struct MembershipTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  // MARK: one round an opening

  /// Opens, exchanges, syncs and ends, as some apps do.
  @discardableResult
  private func visit(_ name: String) async throws -> ExchangeReport {
    let device = try bench.open(name)
    let report = try await device.exchange()
    try device.sync()
    try device.close()
    return report
  }

  @Test func `a retired device returns though each of its openings exchanges and syncs once`()
    async throws
  {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let away = try await bench.publisher("c")
    try await bench.meet(a, b, away)
    let old = away.device
    try away.add("mine")
    try away.close()
    try a.retireDevice(old)
    try await bench.meet(a, b)
    for _ in 0..<3 { try await visit("c") }
    try await bench.meet(a, b)
    let again = try bench.open("c")
    #expect(again.device != old)
    #expect(try again.ids() == ["a", "b", "c", "mine"])
    #expect(try a.ids() == again.ids())
  }

  @Test func `the first exchange of an opening says what is held`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let away = try await bench.publisher("c")
    try await bench.meet(a, b, away)
    try a.retireDevice(away.device)
    try await bench.meet(a, b)
    try away.add("mine")
    try await away.exchange()
    try a.close()
    #expect(try await visit("a").held.isEmpty)
    let report = try await visit("a")
    #expect(report.held.count == 1 && report.isIdle)
    #expect(report.held.first?.name.hasPrefix(away.device) == true)
  }

  // MARK: what is refused

  @Test func `a device of which not all is merged is retired on purpose only`() async throws {
    let (a, away) = (try await bench.publisher("a"), try await bench.publisher("c"))
    try await bench.meet(a, away)
    try away.add("more")
    try await away.exchange()
    // Its head was read, and what it names is not merged.
    _ = try await a.devices()
    #expect(code { try a.retireDevice(away.device) } == .retryLater)
    try await a.exchange()
    #expect(code { try a.retireDevice(away.device) } == .retryLater)
    try a.retireDevice(away.device, givingUp: true)
    try a.rollback()
    #expect(!a.status.outgoing)
    try a.sync()
    try a.retireDevice(away.device)
    try await bench.meet(a)
    #expect(try await a.devices().filter(\.isRetired).map(\.id) == [away.device])
    #expect(try a.ids() == ["a", "c", "more"])
  }

  @Test func `what was fetched in an earlier opening counts, too`() async throws {
    let (a, away) = (try await bench.publisher("a"), try await bench.publisher("c"))
    try await bench.meet(a, away)
    try away.add("more")
    try await away.exchange()
    try await a.exchange()
    try a.close()
    let again = try bench.open("a")
    #expect(code { try again.retireDevice(away.device) } == .retryLater)
  }

  @Test func `nobody is retired who was never heard of`() async throws {
    let a = try await bench.publisher("a")
    #expect(code { try a.retireDevice("00000000000000aa") } == .notFound)
    #expect(code { try a.retireDevice(a.device) } == .illegalArgument)
    #expect(code { try a.retireDevice("aa") } == .illegalArgument)
    #expect(try !a.sync().committed)
    // Its head is enough.
    let b = try await bench.publisher("b")
    _ = try await a.devices()
    try a.retireDevice(b.device, givingUp: true)
  }

  private func code(_ body: () throws -> Void) -> CairnError.Code? {
    do {
      try body()
      return nil
    } catch { return (error as? CairnError)?.code }
  }

  // MARK: who keeps the others waiting

  @Test func `who wrote beside an agreement is told whose word is missing`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let lost = try await bench.publisher("lost")
    try await bench.meet(a, b, lost)
    let name = lost.device
    try lost.close()
    #expect(a.status.awaitedDevices.isEmpty)
    try a.askToForget()
    try await bench.meet(a, b)
    #expect(a.store.cuts.cuts.map(\.isSealed) == [false])
    #expect(a.status.awaitedDevices == [name] && b.status.awaitedDevices == [name])
    #expect(try await b.devices().filter(\.isAwaited).map(\.id) == [name])

    let stray = try bench.open("stray")
    let first = stray.device
    try stray.add("stray")
    try await stray.exchange()
    try await a.pull()
    let beside = try #require(try await a.exchange().held.first?.reason)
    #expect(beside.contains("it was written without knowledge") && beside.contains(name))
    try stray.sync()
    let cut = try #require(
      try await stray.exchange().held.first { $0.name.hasPrefix(a.device) }?.reason)
    #expect(cut.contains("this device takes over what they have") && cut.contains(name))

    try a.retireDevice(name)
    try await bench.meet(a, b)
    #expect(a.status.awaitedDevices.isEmpty)
    try await bench.meet(stray, a, b)
    #expect(stray.device != first)
    for device in [a, b, stray] {
      #expect(try device.ids() == ["a", "b", "lost", "stray"])
      #expect(try await device.exchange().held.isEmpty)
    }
  }

  @Test func `what another one's word lets in is incoming, though no file has come`()
    async throws
  {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    try await bench.meet(a, b)
    let stray = try bench.open("stray")
    try stray.add("stray")
    try await stray.exchange()
    // Merged there, and not told yet.
    try await b.pull()
    #expect(try b.ids() == ["a", "b", "stray"])
    try a.askToForget()
    try a.sync()
    try await a.exchange()
    try a.sync()
    #expect(try !a.status.incoming && a.ids() == ["a", "b"])
    try await b.exchange()
    let report = try await a.exchange()
    #expect(report.fetchedFiles == 0 && a.status.incoming)
    try a.sync()
    #expect(try !a.status.incoming && a.ids() == ["a", "b", "stray"])
  }

  // MARK: forged

  @Test func `a cut that is not true is a problem, is not fetched again, and counts for nothing`()
    async throws
  {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let liar = try await bench.publisher("c")
    try await bench.meet(a, b, liar)
    let store = liar.store
    let dot = Dot(device: store.device, sequence: store.vector[store.device] + 1)
    var context = store.vector
    context.insert(dot)
    context[a.store.device] += 3
    let cut = Cut(dot: dot, context: context, members: [dot.device], line: [dot])
    var seal: [UInt8] = []
    context.encode(into: &seal)
    try store.insert(
      table: Cut.table, id: RecordName("\(dot.device)-\(dot.sequence)"),
      [("cut", .bytes(cut.encoded)), ("seal", .bytes(seal))])
    try liar.sync()
    try await liar.exchange()
    try a.add("of-a")
    try await a.pull()
    for _ in 0..<2 {
      let report = try await a.pull()
      #expect(report.problems.count == 1 && report.held.isEmpty && !report.isRejoining)
      #expect(report.problems.first?.reason.contains("had seen what it had not") == true)
      #expect(report.isIdle)
    }
    try await bench.meet(a, b)
    #expect(a.store.cuts.isEmpty && b.store.cuts.isEmpty)
    #expect(try b.ids().contains("of-a"))
  }
}
