import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Who is told of rounds in the background: whoever asked last.
@Suite(.timeLimit(.minutes(20))) struct ReportHandlerTests {
  /// How often three handlers were called.
  private let counts = Shared([0, 0, 0])

  private func count(_ handler: Int) -> Int { counts.withLock { $0[handler] } }

  private func until(_ handler: Int, _ number: Int) async {
    while count(handler) < number { await Task.yield() }
  }

  private func handler<Report: Sendable>(_ number: Int) -> ReportHandler<Report>.Handler {
    { [counts] _ in counts.withLock { $0[number] += 1 } }
  }

  /// `start` begins rounds or goes on with those that run.
  private func check<Report: Sendable>(
    _ report: Report.Type, _ start: (ReportHandler<Report>.Handler?) async throws -> Void,
    stop: () -> Void
  ) async throws {
    try await start(handler(0))
    await until(0, 1)
    try await start(handler(1))
    await until(1, 1)
    let first = count(0)
    try await start(nil)
    await until(1, count(1) + 3)
    #expect(count(0) == first)
    stop()
    try await start(handler(2))
    await until(2, 2)
    stop()
  }

  @Test func `the newest handler is told of a datastore's rounds`() async throws {
    let bench = try FolderWorkbench()
    bench.options.pollSeconds = 0.01...0.01
    let a = try bench.open("a")
    try await check(
      ExchangeReport.self, { try a.startExchanging(onReport: $0) }, stop: { a.stopExchanging() })
    try a.close()
  }

  @Test func `the newest handler is told of a list's rounds`() async throws {
    let bench = try FolderWorkbench()
    bench.options.pollSeconds = 0.01...0.01
    let manager = try bench.manager("a")
    try await check(
      CatalogueReport.self, { try manager.startExchanging(onReport: $0) },
      stop: { manager.stopExchanging() })
    try manager.shutDown()
  }

  @Test func `the newest handler is told of an object store's rounds`() async throws {
    let bench = MappingBench()
    bench.options.pollSeconds = 0.01...0.01
    let device = try await bench.open("a")
    let store = device.store
    try await check(
      ObjectReport.self, { try await store.startExchanging(onReport: $0) },
      stop: { store.stopExchanging() })
    try await device.close()
  }

  /// What the handler of rounds is told of the first two, as codes of errors; nil is a report. The
  /// folder says at the first request that something is gone, and answers from then on.
  private func told<Report: Sendable>(
    of report: Report.Type, _ hook: HookedFolder.Switch, _ code: CairnError.Code,
    _ start: (@escaping ReportHandler<Report>.Handler) throws -> Void
  ) async throws -> [CairnError.Code?] {
    let (isSaid, told) = (Flag(), Told<CairnError.Code?>())
    hook.set { (_, path) throws(CairnError) in
      if isSaid.raise() { throw CairnError(code, "something is gone", file: path) }
    }
    try start { result in
      switch result {
      case .success: told.add(nil)
      case .failure(let error): told.add(error.code)
      }
    }
    while told.all.count < 2, !Task.isCancelled { await Task.yield() }
    return Array(told.all.prefix(2))
  }

  @Test(arguments: [CairnError.Code.closed, .deleted, .shutdown])
  func `a datastore's rounds go on, whatever its folder says is gone`(
    _ code: CairnError.Code
  ) async throws {
    let bench = try FolderWorkbench()
    bench.options.pollSeconds = 0.01...0.01
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    let codes = try await told(of: ExchangeReport.self, hook, code) {
      try a.startExchanging(onReport: $0)
    }
    #expect(codes == [code, nil])
    try a.close()
  }

  @Test(arguments: [CairnError.Code.closed, .deleted, .shutdown])
  func `a list's rounds go on, whatever its folder says is gone`(
    _ code: CairnError.Code
  ) async throws {
    let bench = try FolderWorkbench()
    bench.options.pollSeconds = 0.01...0.01
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    let codes = try await told(of: CatalogueReport.self, hook, code) {
      try a.manager.startExchanging(onReport: $0)
    }
    #expect(codes == [code, nil])
    try a.manager.shutDown()
  }

  @Test func `what a handler holds goes with it, and may use what it was told of`() {
    final class Held: Sendable {
      let reports: ReportHandler<Int>
      init(_ reports: ReportHandler<Int>) { self.reports = reports }
      deinit { reports.tell(.success(1)) }
    }
    let sum = Shared(0)
    let reports = ReportHandler<Int>(nil)
    reports.tell(.success(1))
    do {
      let held = Held(reports)
      reports.replace { [held] _ in withExtendedLifetime(held) {} }
    }
    reports.replace { result in
      if case .success(let number) = result { sum.withLock { $0 += number } }
    }
    #expect(sum.withLock { $0 } == 1, "the one before has gone, and said so")
  }

  /// Nobody else has a handler any more whose rounds have ended by themselves: more than once, as
  /// the last of them may just be about to go.
  @Test(.timeLimit(.minutes(5)))
  func `what a handler holds may stop the rounds as it goes`() async throws {
    final class Held: Sendable {
      private let device: Datastore
      private let hasGone: Flag
      init(_ device: Datastore, _ hasGone: Flag) {
        (self.device, self.hasGone) = (device, hasGone)
      }
      deinit {
        device.stopExchanging()
        hasGone.raise()
      }
    }
    let bench = try FolderWorkbench()
    for number in 0..<8 {
      let script = ScriptedFolder.Script()
      let (hasEnded, hasGone) = (Flag(), Flag())
      let device = try bench.open("a\(number)", script)
      script.list { _, entries in
        device.store.end(StoreError(.deleted, "deleted on another device"))
        hasEnded.raise()
        return entries
      }
      do {
        let held = Held(device, hasGone)
        try device.startExchanging { [held] _ in withExtendedLifetime(held) {} }
      }
      while !hasEnded.isUp { await Task.yield() }
      // Behind the round that has found it out.
      #expect(await device.exchangeError()?.code == .deleted)
      for _ in 0..<1000 { await Task.yield() }
      #expect(!hasGone.isUp)
      device.stopExchanging()
      while !hasGone.isUp { await Task.yield() }
      script.list(nil)
      #expect(code { try device.startExchanging() } == .deleted)
      try device.close()
    }
  }
}
