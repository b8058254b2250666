import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import TestServers

/// For how long a server that asked for it is left alone.
@Suite struct ServerPatienceTests {
  /// Somebody who was told so, by a server that answers from now on.
  private func told(_ seconds: UInt32) async throws -> HTTPSessionTests.Bench {
    let bench = try HTTPSessionTests.Bench { _ in .answer(503, [("Retry-After", "\(seconds)")]) }
    #expect(await bench.failure()?.retryAfter == Double(seconds))
    bench.server.handle { _ in .answer(200, [], [1]) }
    #expect(await bench.failure()?.kind == .later)
    #expect(bench.server.count == 1)
    return bench
  }

  @Test func `no server is left alone for longer than a day, whatever it says`() async throws {
    let bench = try await told(4_000_000_000)
    bench.clock.advance(by: 86_399_000)
    #expect(await bench.failure()?.kind == .later)
    bench.clock.advance(by: 1000)
    #expect(try await bench.get() == [1])
  }

  /// It was years ahead when the server said so: nobody would wait for that time to come.
  @Test func `a clock that is put back keeps no server waiting`() async throws {
    let bench = try await told(3600)
    bench.clock.advance(by: -100_000_000_000)
    #expect(try await bench.get() == [1])
    // Nor does it when it comes by there again.
    bench.clock.advance(by: 100_000_000_001)
    #expect(try await bench.get() == [1])
  }
}
