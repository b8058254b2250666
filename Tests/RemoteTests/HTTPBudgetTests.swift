import CairnDisk
import Foundation
import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import TestServers

/// What budgets count, and what they stand against.
@Suite struct HTTPBudgetTests {
  typealias Bench = HTTPSessionTests.Bench

  /// A server that answers with as many bytes as its path says.
  private func bench(_ budget: TransferBudget) throws -> Bench {
    try Bench({ $0.budget = budget }) { asked in
      .answer(200, [], [UInt8](repeating: 1, count: Int(asked.path.dropFirst()) ?? 0))
    }
  }

  private func get(_ bench: Bench, _ count: Int) async -> HTTPFailure.Kind? {
    await bench.failure("/\(count)", limit: 8 << 20)?.kind
  }

  private func put(
    _ bench: Bench, _ path: String, _ count: Int
  ) async throws(HTTPFailure) -> FolderTraffic {
    var request = HTTPRequest("PUT", bench.server.origin, path, accepted: [200])
    request.body = .bytes([UInt8](repeating: 1, count: count))
    _ = try await bench.session.send(request)
    return bench.session.meter.traffic
  }

  @Test func `a file for which a budget has no room is not received`() async throws {
    let bench = try bench(TransferBudget(bytesPerHour: 600_000))
    #expect(await get(bench, 1 << 20) == .budget)
    #expect(bench.session.meter.traffic.receivedBytes == 0)
    #expect(await get(bench, 500_000) == nil)
    // The last 37,500 are for what is short.
    #expect(await get(bench, 70_000) == .budget)
    for _ in 0..<2 { #expect(await get(bench, 50_000) == nil) }
    #expect(await get(bench, 1) == .budget)
    #expect(bench.session.meter.traffic.receivedBytes == 600_000)
    bench.clock.advance(by: 3_600_000)
    #expect(await get(bench, 500_000) == nil)
  }

  @Test func `what no hour has room for goes when half of one is unused, if it has to`()
    async throws
  {
    let bench = try bench(TransferBudget(bytesPerHour: 100_000))
    func put(_ count: Int, _ need: BudgetNeed) async -> HTTPFailure? {
      var request = HTTPRequest("PUT", bench.server.origin, "/0", accepted: [200])
      request.body = .bytes([UInt8](repeating: 1, count: count))
      request.need = need
      do throws(HTTPFailure) { _ = try await bench.session.send(request) } catch { return error }
      return nil
    }
    #expect(await put(200_000, .waits)?.kind == .budget)
    #expect(await put(60_000, .waits)?.kind == nil)
    let waiting = await put(200_000, .indivisible)
    #expect(waiting?.kind == .budget && waiting?.detail.contains("half") == true)
    // Another hour has room for it.
    #expect(await put(90_000, .indivisible)?.kind == .budget)
    bench.clock.advance(by: 3_600_000)
    #expect(await put(50_000, .waits)?.kind == nil)
    #expect(await put(200_000, .naming)?.kind == .budget)
    #expect(await put(200_000, .indivisible)?.kind == nil)
    #expect(await put(10, .waits)?.kind == .budget)
    #expect(await put(200_000, .indivisible)?.kind == .budget)
    #expect(await put(10, .naming)?.kind == nil)
    #expect(bench.session.meter.traffic.sentBytes == 310_010)
    bench.clock.advance(by: 3_600_000)
    #expect(await put(60_000, .waits)?.kind == nil)
    #expect(await put(60_000, .naming)?.kind == .budget)
  }

  @Test(arguments: [true, false])
  func `what went in vain, and used up the hour, is told of by what went wrong`(
    _ isCut: Bool
  ) async throws {
    let bench = try Bench({ $0.budget = TransferBudget(bytesPerHour: 100_000) }) { _ in
      isCut ? .hangUp : .answer(503)
    }
    func put() async -> HTTPFailure.Kind? {
      var request = HTTPRequest("PUT", bench.server.origin, "/0", accepted: [200])
      request.body = .bytes([UInt8](repeating: 1, count: 200_000))
      request.need = .indivisible
      do throws(HTTPFailure) { _ = try await bench.session.send(request) } catch {
        return error.kind
      }
      return nil
    }
    #expect(await put() == (isCut ? .cut : .status(503)))
    #expect(bench.session.meter.traffic.requests == 1)
    // By the next round the hour is over, or not.
    #expect(await put() == .budget)
    bench.clock.advance(by: 3_600_000)
    bench.server.handle { _ in .answer(200) }
    #expect(await put() == nil)
  }

  /// A ledger, and whether it lets so much go.
  private struct Ledger {
    let clock = ManualClock(1_800_000_000_000)
    let ledger: BudgetLedger
    let budget = TransferBudget(bytesPerHour: 1_000_000)

    init() { ledger = BudgetLedger(clock: clock) }

    var room: UInt64? { ledger.roomForParts(in: budget) }

    func reserve(
      _ bytes: UInt64, _ need: BudgetNeed = .waits
    ) -> BudgetLedger.Reservation? {
      do throws(HTTPFailure) {
        return try ledger.reserve(bytes, of: budget, need: need, isBegun: false, "it")
      } catch { return nil }
    }

    func takes(_ bytes: UInt64, _ need: BudgetNeed = .waits) -> Bool {
      reserve(bytes, need) != nil
    }
  }

  @Test func `long files leave as much of an hour as a write needs that waits for it`() {
    let ledger = Ledger()
    #expect(ledger.takes(600_000))
    #expect(ledger.room == 337_500)
    #expect(!ledger.takes(2_000_000, .indivisible))
    #expect(ledger.room == 0)
    #expect(!ledger.takes(100_000))
    // What is short finds its room.
    #expect(ledger.takes(1000) && ledger.takes(1000, .indivisible))
    ledger.clock.advance(by: 1_800_000)
    #expect(!ledger.takes(2_000_000, .indivisible))
    ledger.clock.advance(by: 1_800_000)
    // Half an hour's, of which the last sixteenth is kept as always.
    #expect(ledger.room == 437_500)
    #expect(ledger.takes(400_000) && !ledger.takes(100_000))
    #expect(ledger.takes(2_000_000, .indivisible))
    #expect(ledger.room == 0)
    ledger.clock.advance(by: 3_600_000)
    #expect(ledger.room == 937_500)
    // What some hour has room for.
    #expect(ledger.takes(200_000) && !ledger.takes(800_000, .indivisible))
    #expect(ledger.room == 0)
    // Nobody asks for it any more.
    ledger.clock.advance(by: 3_600_000)
    #expect(ledger.room == 937_500)
  }

  @Test func `what was not sent has exceeded no budget`() throws {
    let ledger = Ledger()
    let unsent = try #require(ledger.reserve(2_000_000, .indivisible))
    #expect(ledger.takes(10, .naming) && !ledger.takes(10))
    ledger.ledger.settle(unsent, bytes: 0)
    #expect(!ledger.takes(2_000_000, .naming) && ledger.room == 937_490)
    let sent = try #require(ledger.reserve(2_000_000, .indivisible))
    ledger.ledger.settle(sent, bytes: 1_500_000)
    #expect(ledger.takes(10, .naming) && !ledger.takes(10))
  }

  @Test func `a budget of nothing lets nothing go, divisible or not`() async throws {
    let bench = try bench(TransferBudget(bytesPerHour: 0))
    for need in [BudgetNeed.waits, .indivisible, .naming] {
      var request = HTTPRequest("PUT", bench.server.origin, "/0", accepted: [200])
      request.body = .bytes([1])
      request.need = need
      do throws(HTTPFailure) {
        _ = try await bench.session.send(request)
        Issue.record("\(need)")
      } catch { #expect(error.kind == .budget, "\(need)") }
    }
    #expect(bench.server.count == 0)
  }

  @Test func `a clock that is put back locks no budget`() async throws {
    let bench = try bench(TransferBudget(requestsPerHour: 1))
    #expect(await get(bench, 1) == nil)
    #expect(await get(bench, 1) == .budget)
    // A little: what was used then was used just now.
    bench.clock.advance(by: -1_800_000)
    #expect(await get(bench, 1) == .budget)
    bench.clock.advance(by: -86_400_000)
    #expect(await get(bench, 1) == nil)
    #expect(await get(bench, 1) == .budget)
    bench.clock.advance(by: 3_600_000)
    #expect(await get(bench, 1) == nil)
  }

  @Test func `requests at the same time do not pay for one another`() async throws {
    let bench = try bench(TransferBudget(bytesPerHour: 5 << 19))
    let isFree = Shared(false)
    bench.server.handle { asked in
      if asked.path == "/slow" {
        while !isFree.value { Thread.sleep(forTimeInterval: 0.001) }
      }
      return .answer(200)
    }
    async let slow = bench.failure("/slow")
    while bench.server.count == 0 { await Task.yield() }
    _ = try await put(bench, "/large", 1 << 20)
    isFree.value = true
    #expect(await slow == nil)
    // Of 2.5 MiB one is used, and not two.
    #expect(try await put(bench, "/large", 1 << 20).sentBytes == 2 << 20)
  }

  @Test func `what never left is not paid for`() async throws {
    let bench = try Bench({
      $0.budget = TransferBudget(bytesPerHour: 1000)
      $0.attempts = 3
    }) { _ in .answer(200) }
    bench.server.stop()
    for _ in 0..<2 {
      let failure = await #expect(throws: HTTPFailure.self) { try await put(bench, "/f", 600) }
      #expect(failure?.kind == .connection)
    }
    #expect(bench.session.meter.traffic.sentBytes == 0)
    // Nor what a server's certificate stood against.
    let other = try Bench({ $0.attempts = 1 }) { _ in .answer(200) }
    var request = HTTPRequest(
      "PUT", other.server.origin.replacingOccurrences(of: "http:", with: "https:"), "/f",
      accepted: [200])
    request.body = .bytes([1, 2, 3])
    let failure = await #expect(throws: HTTPFailure.self) {
      try await other.session.send(request)
    }
    #expect(failure?.kind == .tls)
    #expect(other.session.meter.traffic.sentBytes == 0)
    // What broke on its way has left.
    other.server.handle { _ in .hangUp }
    await #expect(throws: HTTPFailure.self) { try await put(other, "/f", 600) }
    #expect(other.session.meter.traffic.sentBytes == 600)
  }
}
