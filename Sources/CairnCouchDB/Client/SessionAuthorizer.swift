internal import Cairn
internal import CairnDisk
internal import CairnHTTP
internal import Synchronization

/// Says who asks by the cookie of a session.
final class SessionAuthorizer: HTTPAuthorizer {
  private let cookie = Lock<String?>(nil)
  private static let name = "AuthSession="

  var isLoggedIn: Bool { cookie.withLock { $0 != nil } }

  func headers(
    for request: HTTPRequest, _ credentials: Credentials?, now: Int64
  ) throws(CairnError) -> [(name: String, value: String)] {
    cookie.withLock { $0 }.map { [("Cookie", $0)] } ?? []
  }

  func forget() { cookie.withLock { $0 = nil } }

  /// Servers send a new cookie when the old one is about to end.
  func note(_ reply: HTTPReply) {
    guard let text = reply["set-cookie"], let start = text.firstRange(of: Self.name) else { return }
    let pair = text[start.lowerBound...].prefix { $0 != ";" && $0 != "," && $0 != " " }
    if pair.utf8.count > Self.name.utf8.count { cookie.withLock { $0 = String(pair) } }
  }
}
