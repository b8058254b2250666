internal import Cairn
internal import CairnDisk
internal import CairnHTTP

/// What is asked of one database on its server.
struct CouchClient: Sendable {
  let address: CouchAddress
  private let session: HTTPSession
  /// Present if requests carry the cookie of a session.
  private let cookies: SessionAuthorizer?
  /// How long it wants to be left alone, if it said so.
  let asked = AskedPause()

  /// - Parameter pause: Waits for so many seconds.
  init(
    _ address: CouchAddress, _ settings: ServerSettings, usesSession: Bool,
    pause: @escaping @Sendable (Double) async throws -> Void
  ) {
    self.address = address
    let cookies = usesSession ? SessionAuthorizer() : nil
    self.cookies = cookies
    session = HTTPSession(
      HTTPConnections(settings), settings, credentials: nil,
      authorizer: cookies ?? PlainAuthorizer() as any HTTPAuthorizer,
      ledger: BudgetLedger(clock: Machine.real.clock), machine: .real, pause: pause)
  }

  var traffic: FolderTraffic { session.meter.traffic }

  func request(_ method: String, _ path: String, accepted: Set<Int> = [200]) -> HTTPRequest {
    HTTPRequest(method, address.origin, path, accepted: accepted)
  }

  /// A request whose answer is JSON, and how many bytes that has.
  func json(
    _ request: HTTPRequest, limit: Int
  ) async throws(HTTPFailure) -> (value: JSONText, bytes: Int) {
    var request = request
    request.headers.append(("Accept", "application/json"))
    let answer = try await send(request) { BytesSink(limit: limit) }
    let bytes = answer.sink.bytes
    do { return (try JSONText(bytes), bytes.count) } catch {
      throw HTTPFailure(.foreign, request.label, error.message)
    }
  }

  /// Any request; logs in before it, and once more if the session has ended meanwhile.
  func send<Sink: HTTPSink>(
    _ request: HTTPRequest, into sink: () -> Sink
  ) async throws(HTTPFailure) -> HTTPSession.Answer<Sink> {
    do throws(HTTPFailure) { return try await sendLoggedIn(request, into: sink) } catch {
      asked.note(error.retryAfter)
      throw error
    }
  }

  private func sendLoggedIn<Sink: HTTPSink>(
    _ request: HTTPRequest, into sink: () -> Sink
  ) async throws(HTTPFailure) -> HTTPSession.Answer<Sink> {
    guard let cookies else { return try await session.send(request, into: sink) }
    if cookies.current == nil { try await logIn(cookies, nil, isRefused: false) }
    var used = cookies.current
    do throws(HTTPFailure) {
      let answer = try await session.send(request, into: sink)
      cookies.note(answer.reply, after: used)
      return answer
    } catch {
      guard error.kind == .status(401) else { throw error }
      try await logIn(cookies, used, isRefused: true)
      used = cookies.current
      let answer = try await session.send(request, into: sink)
      cookies.note(answer.reply, after: used)
      return answer
    }
  }

  /// Logs in, once for all requests that were refused with the same cookie.
  private func logIn(
    _ cookies: SessionAuthorizer, _ refused: String?, isRefused: Bool
  ) async throws(HTTPFailure) {
    while let logIn = cookies.logIn(refused: refused, { begin(cookies, isRefused: isRefused) }) {
      let result = await withTaskCancellationHandler {
        await logIn.value
      } onCancel: {
        logIn.cancel()
      }
      // Somebody else who waited for it was cancelled: that is no reason for this one.
      if case .failure = result, logIn.isCancelled, !Task.isCancelled { continue }
      return try result.get()
    }
  }

  private func begin(_ cookies: SessionAuthorizer, isRefused: Bool) -> SessionAuthorizer.LogIn {
    Task {
      do throws(HTTPFailure) {
        let cookie = try await newCookie(isRefused: isRefused)
        cookies.end(cookie)
        return .success(())
      } catch {
        cookies.end(nil)
        return .failure(error)
      }
    }
  }

  /// The cookie of a new session; nil for a server that is open to all. Credentials that are
  /// refused are asked for once more, as they may be others now.
  ///
  /// - Parameter isRefused: A request was refused.
  private func newCookie(isRefused: Bool) async throws(HTTPFailure) -> String? {
    let request = request("POST", address.serverPath(SessionAuthorizer.path))
    var (found, number) = try await credentials(after: 0, request)
    // It was refused because there were none.
    if isRefused, found == nil { (found, number) = try await credentials(after: number, request) }
    do throws(HTTPFailure) { return try await cookie(found, request) } catch {
      guard error.kind == .status(401) else { throw error }
      let other = try await credentials(after: number, request).credentials
      if other == found { throw error }
      return try await cookie(other, request)
    }
  }

  private func credentials(
    after number: Int, _ request: HTTPRequest
  ) async throws(HTTPFailure) -> (credentials: Credentials?, number: Int) {
    do { return try await session.knownCredentials(after: number) } catch {
      throw HTTPFailure(.settings(error), request.label, error.message)
    }
  }

  private func cookie(
    _ credentials: Credentials?, _ request: HTTPRequest
  ) async throws(HTTPFailure) -> String? {
    // A server that is open to all needs none.
    guard let credentials else { return nil }
    guard credentials.kind == .password, let name = credentials.name else {
      let error = CairnError(.auth, "a session of CouchDB begins with a user and a password")
      throw HTTPFailure(.settings(error), request.label, error.message)
    }
    let password = JSONString.quoted(credentials.secret)
    let body = "{\"name\":\(JSONString.quoted(name)),\"password\":\(password)}"
    var request = request
    request.body = .bytes(Array(body.utf8))
    request.headers.append(("Content-Type", "application/json"))
    let answer = try await session.send(request, limit: 64 << 10)
    guard let cookie = SessionAuthorizer.cookie(answer.reply) else {
      throw HTTPFailure(.foreign, request.label, "the server began a session without a cookie")
    }
    return cookie
  }
}

extension HTTPFailure {
  /// An answer of the server that is JSON and says something else than it should.
  static func unexpected(_ request: HTTPRequest, _ what: String) -> HTTPFailure {
    HTTPFailure(.foreign, request.label, "the answer is not CouchDB's: \(what)")
  }
}
