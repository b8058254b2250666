import Cairn
import CairnHTTP
import Testing

@testable import CairnCouchDB

/// What requests carry while a session begins, and after that.
@Suite struct SessionLogInTests {
  @Test func `a log-in carries no cookie, and everything else the last one`() throws {
    let cookies = SessionAuthorizer()
    func sent(_ method: String, _ path: String) throws -> [String] {
      let request = HTTPRequest(method, "https://host", path, accepted: [200])
      return try cookies.headers(for: request, nil, now: 0).map { "\($0.name): \($0.value)" }
    }
    #expect(try sent("GET", "/db/_changes") == [])
    cookies.end("AuthSession=one")
    #expect(try sent("POST", "/_session") == [])
    #expect(try sent("POST", "/prefix/_session") == [])
    for path in ["/db/_changes", "/my_session", "/_session/a"] {
      #expect(try sent("GET", path) == ["Cookie: AuthSession=one"], "\(path)")
    }
    cookies.end("AuthSession=two")
    #expect(try sent("GET", "/db/_changes") == ["Cookie: AuthSession=two"])
  }
}
