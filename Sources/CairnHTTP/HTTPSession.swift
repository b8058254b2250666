package import Cairn
package import CairnDisk
internal import Synchronization

/// What one folder asks of its server: credentials, tries, counting and budgets around
/// `HTTPConnections`.
package final class HTTPSession: Sendable {
  private let connections: HTTPConnections
  private let settings: ServerSettings
  private let credentials: KnownCredentials
  private let authorizer: any HTTPAuthorizer
  private let ledger: BudgetLedger
  private let machine: Machine
  private let pause: @Sendable (Double) async throws -> Void
  package let meter = TrafficMeter()
  private let serverAhead = Lock(Int64(0))

  /// With what a try was signed: others may have found out better meanwhile.
  private struct Signing {
    var credentials = KnownCredentials.Answer()
    var clockAhead: Int64 = 0
  }

  /// - Parameters:
  ///   - credentials: Those of the account, before those of the settings.
  ///   - pause: Waits for so many seconds.
  package init(
    _ connections: HTTPConnections, _ settings: ServerSettings, credentials: CredentialSource?,
    authorizer: any HTTPAuthorizer, ledger: BudgetLedger, machine: Machine,
    pause: @escaping @Sendable (Double) async throws -> Void = { seconds in
      try await Task.sleep(for: .seconds(seconds))
    }
  ) {
    self.connections = connections
    self.settings = settings
    self.credentials = KnownCredentials(
      credentials?.or(settings.credentials) ?? settings.credentials
    ) { authorizer.takes($0) }
    self.authorizer = authorizer
    self.ledger = ledger
    self.machine = machine
    self.pause = pause
  }

  /// The answer to a request, and how many tries it took.
  package struct Answer<Sink: HTTPSink> {
    package var reply: HTTPReply
    package var sink: Sink
    /// 1 if the first try was answered. After more the server may have done what was asked twice.
    package var tries: Int
  }

  /// A request of which the answer's body is small, and kept.
  package func send(
    _ request: HTTPRequest, limit: Int = 64 << 10
  ) async throws(HTTPFailure) -> Answer<BytesSink> {
    try await send(request, into: { BytesSink(limit: limit, needsRoom: true) })
  }

  /// Sends a request until it is answered with one of its accepted statuses, as often as the
  /// settings allow. `sink` makes what takes the body of an accepted answer, for each try anew, and
  /// `give` is called with what a sink does not keep, which is given once, whatever comes after it.
  /// `renew` is called before another try, which may ask for less than the one before.
  package func send<Sink: HTTPSink>(
    _ request: HTTPRequest, into sink: () -> Sink,
    giving give: ([UInt8]) throws(CairnError) -> Void = { _ in },
    renew: (inout HTTPRequest) -> Void = { _ in }
  ) async throws(HTTPFailure) -> Answer<Sink> {
    let most = request.isWorthOneTry ? 1 : max(1, settings.attempts)
    var request = request
    var tries = 0
    var redirects = 0
    var hasRefreshed = false
    var hasSetClock = false
    var used = Signing()
    var first: HTTPFailure?
    while true {
      tries += 1
      do throws(HTTPFailure) {
        let answer = try await attempt(request, sink(), tries, &used, give)
        meter.note(isStalled: false)
        return answer
      } catch {
        // What was sent in vain has used up the hour. That is not what went wrong.
        if error.kind == .budget, request.need == .indivisible, let first { throw first }
        if error.kind == .stalled { meter.note(isStalled: true) }
        if !hasSetClock, setClock(error, after: used) {
          hasSetClock = true
          continue
        }
        if !hasRefreshed, authorizer.isRefusal(error) {
          hasRefreshed = true
          if try await refresh(request, after: used) { continue }
        }
        if error.kind == .redirect, redirects < 3, follow(error, &request) {
          redirects += 1
          continue
        }
        let isTooLong = (error.retryAfter ?? 0) > settings.longestPauseSeconds
        let isPassing = authorizer.isPassing(error)
        // Who has locked one file says nothing of the others.
        if isTooLong, isPassing, error.kind != .status(423), let seconds = error.retryAfter {
          ledger.leave(request.origin, alone: seconds)
        }
        guard isPassing, tries < most, !isTooLong else { throw error }
        first = first ?? error
        try await waitToRetry(after: error, tries)
        renew(&request)
      }
    }
  }

  private var budget: TransferBudget? {
    settings.isMetered() ? settings.meteredBudget : settings.budget
  }

  /// Bytes that the budget has left in this hour for parts of long files; nil if none limits them.
  var roomForParts: UInt64? { ledger.roomForParts(in: budget) }

  private func attempt<Sink: HTTPSink>(
    _ request: HTTPRequest, _ sink: Sink, _ tries: Int, _ used: inout Signing,
    _ give: ([UInt8]) throws(CairnError) -> Void
  ) async throws(HTTPFailure) -> Answer<Sink> {
    if Task.isCancelled { throw HTTPFailure(.cancelled, request.label, "it was cancelled") }
    if let seconds = ledger.secondsAlone(request.origin) {
      throw HTTPFailure(.later, request.label, "the server wants to be left alone for "
        + "another \(seconds) s")
    }
    let headers: [(name: String, value: String)]
    do {
      used.credentials = try await credentials.answer(after: 0)
      used.clockAhead = clockAhead
      headers = try authorizer.headers(
        for: request, used.credentials.credentials, now: machine.clock.now() &+ used.clockAhead)
    } catch { throw HTTPFailure(.settings(error), request.label, error.message) }
    let budget = self.budget
    let reserved = try ledger.reserve(
      request.body.count &+ request.expected, of: budget, need: request.need,
      isBegun: request.endsWhatWasBegun, request.label)
    meter.noteRequest(isRetry: tries > 1)
    // Others send at the same time, and pay for themselves.
    let own = TrafficMeter(of: meter)
    defer {
      let used = own.traffic
      ledger.settle(reserved, bytes: used.sentBytes &+ used.receivedBytes)
    }
    let isAnonymous = used.credentials.credentials == nil
    var sink = Choice(wanted: sink) { [ledger] length throws(HTTPFailure) in
      if request.endsWhatWasBegun { return }
      try ledger.grow(reserved, to: length, of: budget, request.label)
    }
    let reply = try await connections.send(
      request, headers, into: &sink, giving: give, meter: own)
    if var failure = sink.failure(reply, request) {
      if isAnonymous, reply.status == 401 || reply.status == 403 {
        failure.detail += ", and was given no credentials"
      }
      throw failure
    }
    return Answer(reply: reply, sink: sink.wanted, tries: tries)
  }

  // MARK: trying again

  /// Waits until the next try of what has failed so often.
  package func waitToRetry(
    after failure: HTTPFailure, _ tries: Int
  ) async throws(HTTPFailure) {
    do { try await self.pause(wait(failure, tries)) } catch {
      throw HTTPFailure(.cancelled, failure.request, "it was cancelled")
    }
  }

  /// Seconds until the next try: twice as long each time, of which a random part, so that devices
  /// that were refused at once do not come back at once; and as long as the server says, and a
  /// little more for the same reason.
  private func wait(_ failure: HTTPFailure, _ tries: Int) -> Double {
    let chance = Double(machine.random.next() >> 11) / Double(1 << 53)
    let longest = min(settings.longestPauseSeconds, 0.25 * Double(1 << min(tries, 16)))
    let own = longest * (0.5 + 0.5 * chance)
    guard let asked = failure.retryAfter else { return own }
    return max(own, asked * (1 + 0.1 * chance))
  }

  /// Signatures are good for some minutes only: a device whose clock is wrong signs by the
  /// server's.
  private func setClock(_ failure: HTTPFailure, after used: Signing) -> Bool {
    guard case .status(let status) = failure.kind, status == 403 || status == 400,
      let time = failure.serverTime
    else { return false }
    let found = time &- machine.clock.now()
    // One that was wrong may have been set right since.
    let ahead = found.magnitude > HTTPSession.clockToleranceMilliseconds ? found : 0
    serverAhead.withLock { $0 = ahead }
    return (used.clockAhead &- ahead).magnitude > HTTPSession.clockToleranceMilliseconds
  }

  private static let clockToleranceMilliseconds: UInt64 = 300_000

  /// How far the server's clock is ahead of ours, in milliseconds, if that has mattered.
  package var clockAhead: Int64 { serverAhead.withLock { $0 } }

  /// Follows to another path of the same server; the credentials go nowhere else.
  private func follow(_ failure: HTTPFailure, _ request: inout HTTPRequest) -> Bool {
    let target = String(decoding: failure.body, as: UTF8.self)
    guard target.utf8.count < 4096, !target.contains("?"), !target.contains("#") else {
      return false
    }
    if target.hasPrefix("/"), !target.hasPrefix("//") {
      request.follow(to: target)
      return true
    }
    guard target.hasPrefix(request.origin + "/") else { return false }
    request.follow(to: String(target.dropFirst(request.origin.count)))
    return true
  }

  // MARK: credentials

  /// What the source of credentials says, for whoever sends them otherwise than in headers.
  ///
  /// - Parameter number: That of the answer that was refused, after which it is asked again; 0: any
  ///   will do.
  /// - Throws: `cancelled` as soon as the task is, whatever the source does meanwhile.
  package func knownCredentials(
    after number: Int
  ) async throws(CairnError) -> (credentials: Credentials?, number: Int) {
    let answer = try await credentials.answer(after: number)
    return (answer.credentials, answer.number)
  }

  /// The source is asked again, unless it has said something else since; true if there are others
  /// now than those that were refused.
  private func refresh(
    _ request: HTTPRequest, after used: Signing
  ) async throws(HTTPFailure) -> Bool {
    let refused = used.credentials
    do {
      return try await credentials.answer(after: refused.number).credentials
        != refused.credentials
    } catch { throw HTTPFailure(.settings(error), request.label, error.message) }
  }
}

/// Takes the body of an answer that is wanted, and the beginning of one that is not.
private struct Choice<Sink: HTTPSink>: HTTPSink {
  var wanted: Sink
  private var isWanted = false
  /// The body says what was asked for; that of "not found", which is an answer too, says nothing.
  private var hasContent = false
  private var rest: [UInt8] = []
  private var mayBePage = false
  /// What has come while it is not clear whether that is a page.
  private var opening: [UInt8] = []
  private var isPage = false
  /// Called with the length of a file before any of it comes. Throws if a budget has no room.
  private let admit: (UInt64) throws(HTTPFailure) -> Void
  private static var restMax: Int { 4096 }
  private static var reading: Set<String> { ["GET", "HEAD", "PROPFIND"] }
  /// What came beyond that.
  private var passedOver = 0
  private static var passedOverMax: Int { 1 << 20 }

  var hasEnough: Bool {
    hasContent ? wanted.hasEnough : passedOver > Choice.passedOverMax
  }

  init(wanted: Sink, admit: @escaping (UInt64) throws(HTTPFailure) -> Void) {
    (self.wanted, self.admit) = (wanted, admit)
  }

  mutating func given() -> [UInt8] { hasContent ? wanted.given() : [] }

  mutating func begin(_ reply: HTTPReply, _ request: HTTPRequest) throws(HTTPFailure) {
    // Hardly anything here is a web page. A network that wants a log-in answers everything with
    // one. Some servers call an answer one that has nothing in it.
    mayBePage =
      !request.mayBePage && reply.status == 200 && reply.contentType == "text/html"
    isWanted = request.accepted.contains(reply.status)
    hasContent = isWanted && (200..<300).contains(reply.status)
    guard hasContent else { return }
    try wanted.begin(reply, request)
    if wanted.needsRoom, request.method != "HEAD", let length = reply.length { try admit(length) }
  }

  mutating func take(_ bytes: [UInt8], _ request: HTTPRequest) throws(HTTPFailure) {
    var bytes = bytes
    if mayBePage {
      bytes = opening + bytes
      guard let isPage = WebPage.begins(bytes) else {
        opening = bytes
        return
      }
      self.isPage = isPage
      if isPage { (isWanted, hasContent) = (false, false) }
      (mayBePage, opening) = (false, [])
    }
    if hasContent {
      try wanted.take(bytes, request)
    } else if rest.count < Choice.restMax {
      rest += bytes.prefix(Choice.restMax - rest.count)
    } else {
      passedOver += bytes.count
    }
  }

  /// Why the answer is none that was asked for; nil if it is.
  func failure(_ reply: HTTPReply, _ request: HTTPRequest) -> HTTPFailure? {
    // It ended before it was clear, as nothing does that is asked for.
    let isCutPage = !opening.isEmpty
    if isWanted, !isCutPage { return nil }
    if isPage || isCutPage || reply.status == 511 {
      return HTTPFailure(.foreign, request.label, "a web page came instead of an answer")
    }
    if (300..<400).contains(reply.status), let target = reply["location"] {
      // Without what may be secret in it.
      let shown = target.prefix { $0 != "?" && $0 != "#" }.prefix(200)
      // "See other" is about something to be read there, and never for what was to be done here
      // (RFC 9110, 15.4.4).
      let isFollowed = reply.status != 303 || Choice.reading.contains(request.method)
      return HTTPFailure(
        .redirect, request.label, "the server sends elsewhere: \(shown)",
        body: isFollowed ? Array(target.utf8) : [])
    }
    var detail = "the server answered \(reply.status)"
    if reply.status == 401, reply.wantsOnlyDigest {
      detail += " and wants Digest, which is not spoken here: let it ask for Basic by https"
    }
    return HTTPFailure(
      .status(reply.status), request.label, detail,
      retryAfter: reply.retryAfter, body: rest, serverTime: reply.serverTime)
  }
}
