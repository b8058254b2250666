import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import TestServers

/// Redirections that name a server, and not only a path.
@Suite struct HTTPElsewhereTests {
  /// Somebody who has something to lose.
  private func bench() throws -> HTTPSessionTests.Bench {
    try HTTPSessionTests.Bench(credentials: .given(.password(user: "ana", password: "pw"))) { _ in
      .answer(200)
    }
  }

  @Test(arguments: ["GET", "PUT"])
  func `nothing goes to another server, however a redirection names it`(
    _ method: String
  ) async throws {
    let bench = try bench()
    let other = try TestServer { _ in .answer(200) }
    let origin = bench.server.origin
    let host = other.origin.dropFirst("http://".count)
    let targets = [
      other.origin, other.origin + "/b", "//\(host)/b",
      // They begin like the server that was asked: as a user's name, and as a part of a host's.
      "\(origin)@\(host)/b", "\(origin).\(host)/b",
    ]
    for target in targets {
      bench.server.clearLog()
      bench.server.handle { _ in .answer(307, [("Location", target)]) }
      var request = HTTPRequest(method, origin, "/a", accepted: [200])
      if method == "PUT" { request.body = .bytes([1, 2]) }
      let asked = request
      let error = await #expect(throws: HTTPFailure.self, "\(target)") {
        _ = try await bench.session.send(asked)
      }
      #expect(error?.kind == .redirect, "\(target)")
      #expect(bench.server.log == ["\(method) /a"], "\(target)")
    }
    #expect(other.count == 0)
  }

  @Test func `the same server may be named in full, but nothing is asked of it there`()
    async throws
  {
    let bench = try bench()
    let origin = bench.server.origin
    let targets = [("/b", true), ("/b?c=d", false), ("/b#c", false)]
    for (target, isFollowed) in targets {
      for start in ["", origin] {
        bench.server.clearLog()
        bench.server.handle { asked in
          asked.path == "/a"
            ? .answer(301, [("Location", start + target)]) : .answer(200, [], [7])
        }
        let failure = await bench.failure()
        #expect(failure?.kind == (isFollowed ? nil : .redirect), "\(start + target)")
        #expect(bench.server.log == ["GET /a"] + (isFollowed ? ["GET /b"] : []))
      }
    }
  }
}
