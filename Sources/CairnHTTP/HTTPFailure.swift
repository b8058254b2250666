package import Cairn

/// Why a request came to nothing.
package struct HTTPFailure: Error, Sendable {
  package enum Kind: Hashable, Sendable {
    /// The server answered with this status, and that is no success.
    case status(Int)
    /// No connection came about: no such name, refused, unreachable.
    case connection
    /// The server's certificate is not to be trusted, or there is no encryption to agree on.
    case tls
    /// The connection broke, or the body ended before its length.
    case cut
    /// Nothing moved for too long.
    case stalled
    /// What came is not from the server that was asked: a page of a network's log-in, or nonsense.
    case foreign
    /// It leads somewhere else, where we don't go.
    case redirect
    /// The body is larger than may be.
    case tooLarge
    /// What may be used in an hour is used up.
    case budget
    /// The server said when to come back, and it is not that time yet: nothing was asked.
    case later
    case cancelled
    /// The credentials, or the settings, can't be used.
    case settings(CairnError)
  }

  package var kind: Kind
  /// What was asked: `PUT /folder/name`. Never with a query or a header.
  package var request: String
  package var detail: String
  /// How long the server wants to be left alone, in seconds.
  package var retryAfter: Double?
  /// What the server said in the body of its answer, the beginning of it.
  package var body: [UInt8] = []
  /// The time that the server had, if it said so: milliseconds since 1970.
  package var serverTime: Int64?

  package init(
    _ kind: Kind, _ request: String, _ detail: String, retryAfter: Double? = nil,
    body: [UInt8] = [], serverTime: Int64? = nil
  ) {
    self.kind = kind
    self.request = request
    self.detail = detail
    self.retryAfter = retryAfter
    self.body = body
    self.serverTime = serverTime
  }

  /// Whether the same request may succeed a little later.
  package var isPassing: Bool {
    switch kind {
    case .status(let status):
      switch status {
      case 408, 423, 425, 429, 500, 502, 503, 504: true
      // What Cloudflare says where others say 502: no server behind it answers.
      case 520...524, 530: true
      default: false
      }
    case .connection, .cut, .stalled: true
    case .tls, .foreign, .redirect, .tooLarge, .budget, .later, .cancelled, .settings: false
    }
  }
}

extension CairnError {
  /// For people: what happened, where, and what to do.
  package init(_ failure: HTTPFailure, file: String? = nil) {
    if case .settings(let error) = failure.kind {
      self = error
      return
    }
    let (code, advice) = CairnError.meaning(failure)
    var message = "\(failure.request): \(failure.detail)"
    if !advice.isEmpty { message += "; \(advice)" }
    self.init(code, message, file: file)
  }

  private static func meaning(_ failure: HTTPFailure) -> (Code, String) {
    switch failure.kind {
    case .status(let status): meaning(status, failure)
    case .connection:
      (.noConnection, "nothing is lost, the next exchange tries again")
    case .tls:
      (.ssl, "certificates are always verified; a server with an authority of its own needs "
        + "ServerSettings.certificateFile")
    case .cut: (.network, "nothing is lost, the next exchange tries again")
    case .stalled: (.timeout, "nothing is lost, the next exchange tries again")
    case .foreign:
      (.response, "is there a log-in page between this device and the server?")
    case .redirect: (.response, "give the address that it leads to, if that is the right one")
    case .tooLarge: (.fileIO, "nothing of it was used")
    case .budget: (.quota, "the exchange goes on when the hour has moved on")
    case .later: (.retryLater, "the first exchange after that tries again")
    case .cancelled: (.cancelled, "")
    case .settings(let error): (error.code, "")
    }
  }

  private static func meaning(_ status: Int, _ failure: HTTPFailure) -> (Code, String) {
    let later = failure.retryAfter.map { "the server asks to wait \(Int($0)) seconds" }
    switch status {
    case 401, 407: return (.auth, "check the credentials")
    case 403: return (.auth, "the credentials don't allow this; check them and the rights")
    case 404, 410: return (.notFound, "check the address")
    case 413 where failure.request.hasPrefix("PUT "):
      return (
        .sizeLimit, "the server takes no file that large; raise its limit, in nginx "
          + "client_max_body_size"
      )
    case 413, 507: return (.quota, "there is no room on the server; make some")
    case 405, 501: return (.server, "the server can't do that; is the address one of a folder?")
    case 408, 425, 429, 503:
      return (.retryLater, later ?? "the server is busy; the next exchange tries again")
    case 409: return (.server, "the folder above it is missing")
    case 412, 416: return (.server, "the file has changed meanwhile")
    case 423: return (.retryLater, "somebody has locked it; the next exchange tries again")
    case 500...: return (.server, "the next exchange tries again")
    default: return (.request, "the server did not understand")
    }
  }
}
