import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import TestServers

/// Where redirections lead. That nothing goes to another server, others say.
@Suite struct HTTPRedirectTests {
  private func send(_ method: String, _ status: Int) async throws -> (HTTPFailure?, [String]) {
    let bench = try HTTPSessionTests.Bench { asked in
      asked.path == "/a" ? .answer(status, [("Location", "/b")]) : .answer(200)
    }
    var request = HTTPRequest(method, bench.server.origin, "/a", accepted: [200])
    if method == "PUT" { request.body = .bytes([1, 2]) }
    do throws(HTTPFailure) {
      _ = try await bench.session.send(request)
      return (nil, bench.server.log)
    } catch { return (error, bench.server.log) }
  }

  @Test(arguments: ["PUT", "POST", "DELETE", "MOVE", "MKCOL"])
  func `what is to be read elsewhere is not written, moved or removed there`(
    _ method: String
  ) async throws {
    let (error, log) = try await send(method, 303)
    let failure = try #require(error)
    #expect(failure.kind == .redirect && failure.detail.contains("/b"))
    #expect(CairnError(failure).code == .response)
    #expect(log == ["\(method) /a"])
  }

  @Test(arguments: ["GET", "HEAD", "PROPFIND"])
  func `what was to be read is read elsewhere`(_ method: String) async throws {
    let (error, log) = try await send(method, 303)
    #expect(error == nil)
    #expect(log == ["\(method) /a", "\(method) /b"])
  }

  @Test(arguments: [301, 302, 307, 308])
  func `other redirections hold for all that is asked`(_ status: Int) async throws {
    for method in ["GET", "PUT", "DELETE"] {
      let (error, log) = try await send(method, status)
      #expect(error == nil)
      #expect(log == ["\(method) /a", "\(method) /b"])
    }
  }

  @Test(
    arguments: [
      ("/f/d/t", "/old/f/d/t", "/f/d/x", "/old/f/d/x"), ("/old/f/t", "/f/t", "/old/f/x", "/f/x"),
      ("/dav/f/t", "/webdav/f/t", "/dav/f/x", "/webdav/f/x"),
      // What has another name only begins alike, or is another file.
      ("/ab/t", "/cb/t", "/abc/x", "/abc/x"), ("/f/t", "/f/u", "/f/x", "/f/x"),
    ])
  func `what is to be moved is moved to where the server leads`(
    _ path: String, _ target: String, _ destination: String, _ expected: String
  ) {
    var request = HTTPRequest("MOVE", "https://host", path, accepted: [201])
    request.headers = [("Destination", "https://host" + destination), ("Overwrite", "T")]
    request.follow(to: target)
    #expect(request.path == target)
    #expect(request.headers.map(\.value) == ["https://host" + expected, "T"])
  }

  @Test(arguments: ["GET", "PUT"])
  func `redirections that lead round in a circle come to an end`(_ method: String) async throws {
    let bench = try HTTPSessionTests.Bench { asked in
      // Whoever never tires of it gets an answer in the end.
      if asked.number > 50 { return .answer(200) }
      return .answer(307, [("Location", asked.path == "/a" ? "/b" : "/a")])
    }
    var request = HTTPRequest(method, bench.server.origin, "/a", accepted: [200])
    if method == "PUT" { request.body = .bytes([1, 2]) }
    let asked = request
    let error = await #expect(throws: HTTPFailure.self) {
      _ = try await bench.session.send(asked)
    }
    #expect(error?.kind == .redirect)
    #expect(bench.server.log == ["a", "b", "a", "b"].map { "\(method) /\($0)" })
  }
}
