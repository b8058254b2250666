import Cairn
import Foundation
import Testing

@testable import CairnHTTP
@testable import TestServers

/// Connections that end before they are encrypted.
@Suite struct HTTPHandshakeTests {
  @Test func `a connection that closes in the handshake is tried again, and no bad certificate`()
    async throws
  {
    let bench = try HTTPSessionTests.Bench({ $0.attempts = 3 }) { _ in .answer(200) }
    bench.server.hangUpOnHellos()
    let origin = bench.server.origin.replacingOccurrences(of: "http:", with: "https:")
    do throws(HTTPFailure) {
      _ = try await bench.session.send(HTTPRequest("GET", origin, "/", accepted: [200]))
      Issue.record("it was answered")
    } catch {
      #expect(error.kind == .connection)
      #expect(error.detail == "the connection closed before it was encrypted")
      #expect(CairnError(error).code == .noConnection)
    }
    #expect(bench.server.hellos == 3)
    #expect(bench.log.all.count == 2)
  }
}
