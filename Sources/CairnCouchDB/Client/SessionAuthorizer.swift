internal import Cairn
internal import CairnDisk
internal import CairnHTTP
internal import Synchronization

/// Says who asks by the cookie of a session.
final class SessionAuthorizer: HTTPAuthorizer {
  typealias LogIn = Task<Result<Void, HTTPFailure>, Never>

  private struct State {
    var cookie: String?
    var logIn: LogIn?
  }

  private let state = Lock(State())
  private static let name = "AuthSession="
  static let path = "_session"

  var current: String? { state.withLock { $0.cookie } }

  func headers(
    for request: HTTPRequest, _ credentials: Credentials?, now: Int64
  ) throws(CairnError) -> [(name: String, value: String)] {
    // Whoever logs in has none, or one that is over.
    if request.path.hasSuffix("/" + Self.path) { return [] }
    return current.map { [("Cookie", $0)] } ?? []
  }

  /// The same request is refused again, whatever the source of credentials says: a log-in has them
  /// in its body, and others have a cookie.
  func isRefusal(_ failure: HTTPFailure) -> Bool { false }

  /// The one log-in that is under way, begun if there is none; nil if there is another cookie
  /// already than the one that was refused.
  func logIn(refused: String?, _ begin: () -> LogIn) -> LogIn? {
    state.withLock { state in
      if state.cookie != refused { return nil }
      if let logIn = state.logIn { return logIn }
      let logIn = begin()
      state.logIn = logIn
      return logIn
    }
  }

  /// The log-in has ended; with a cookie, if it succeeded.
  func end(_ cookie: String?) {
    state.withLock { state in
      state.logIn = nil
      if let cookie { state.cookie = cookie }
    }
  }

  /// Servers send a new cookie when the old one is about to end. That of an answer which comes late
  /// takes no newer one's place.
  func note(_ reply: HTTPReply, after used: String?) {
    guard let cookie = Self.cookie(reply) else { return }
    state.withLock { state in
      if state.cookie == used { state.cookie = cookie }
    }
  }

  static func cookie(_ reply: HTTPReply) -> String? {
    guard let text = reply["set-cookie"], let start = text.firstRange(of: name) else { return nil }
    let pair = text[start.lowerBound...].prefix { $0 != ";" && $0 != "," && $0 != " " }
    return pair.utf8.count > name.utf8.count ? String(pair) : nil
  }
}
