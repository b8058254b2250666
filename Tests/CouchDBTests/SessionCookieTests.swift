import CairnHTTP
import Testing

@testable import CairnCouchDB

/// Which cookie requests carry.
@Suite struct SessionCookieTests {
  private func reply(_ cookie: String) -> HTTPReply {
    HTTPReply(status: 200, headers: ["set-cookie": cookie])
  }

  @Test func `a cookie that comes with an answer is the next one's, unless there is a newer`() {
    let cookies = SessionAuthorizer()
    cookies.end("AuthSession=one")
    cookies.note(reply("AuthSession=two; Version=1; Path=/; HttpOnly"), after: "AuthSession=one")
    #expect(cookies.current == "AuthSession=two")
    // This answers what was sent with the first one, and comes late.
    cookies.note(reply("AuthSession=three; Path=/"), after: "AuthSession=one")
    #expect(cookies.current == "AuthSession=two")
    // One without a value ends a session, and is none to go on with; nor are others.
    for other in ["AuthSession=; Max-Age=0", "Other=four", ""] {
      cookies.note(reply(other), after: "AuthSession=two")
    }
    cookies.note(HTTPReply(status: 200, headers: [:]), after: "AuthSession=two")
    #expect(cookies.current == "AuthSession=two")
    // A log-in that failed takes none away.
    cookies.end(nil)
    #expect(cookies.current == "AuthSession=two")
  }
}
