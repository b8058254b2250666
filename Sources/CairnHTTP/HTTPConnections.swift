internal import AsyncHTTPClient
package import Cairn
internal import CairnDisk
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// The connections to servers that all folders of one kind and settings share. The only place that
/// knows the network library.
package final class HTTPConnections: Sendable {
  private let settings: ServerSettings
  private let now: @Sendable () -> ContinuousClock.Instant
  private let clients = Lock<[Kind: HTTPClient]>([:])
  /// How many connections to one server there are at once at most.
  private static let perHostMax = 64

  /// The library waits for an answer from when it has the last byte of a request, and knows nothing
  /// of what the system has still to send of it: long bodies have a client that waits longer.
  private enum Kind { case short, long }
  /// Longer bodies may be under way for longer than a stall.
  private static let shortBytes: UInt64 = 64 << 10
  /// For how many stalls a server may be silent in the middle of its answer to a long body. Until
  /// that begins it is `UploadWatch` that counts, which allows less: nobody here can tell that all
  /// of a body has arrived, as the last of it is taken by the system long before.
  private static let silentStalls: Double = 20

  /// - Parameter now: By which it is known that an answer takes too long as a whole.
  package init(
    _ settings: ServerSettings, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.settings = settings
    self.now = now
  }

  deinit {
    // Its connections close by themselves, but it wants to be told.
    let clients = clients.withLock { Array($0.values) }
    if clients.isEmpty { return }
    Task {
      // Nobody is left who could be told that closing failed.
      for client in clients { try? await client.shutdown() }
    }
  }

  /// Made when it is first needed: starting threads is not for those who only open a datastore.
  private func ready(_ kind: Kind) throws(CairnError) -> HTTPClient {
    try clients.withLock { clients throws(CairnError) in
      if let client = clients[kind] { return client }
      let new = HTTPClient(
        eventLoopGroupProvider: .singleton, configuration: try configuration(kind))
      clients[kind] = new
      return new
    }
  }

  private func configuration(_ kind: Kind) throws(CairnError) -> HTTPClient.Configuration {
    var tls = TLSConfiguration.makeClientConfiguration()
    // What is older can be broken (RFC 8996), and passwords travel in it.
    tls.minimumTLSVersion = .tlsv12
    if let path = settings.certificateFile {
      do {
        tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(path))]
      } catch {
        throw CairnError(
          .ssl, "the certificates in \(path) can't be read; the file has to be PEM", file: path)
      }
    }
    let stalls = kind == .long ? HTTPConnections.silentStalls : 1
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: tls, redirectConfiguration: .disallow,
      timeout: HTTPClient.Configuration.Timeout(
        connect: amount(settings.connectSeconds), read: amount(stalls * settings.stallSeconds),
        write: amount(settings.stallSeconds)))
    configuration.decompression = .disabled
    configuration.httpVersion = .http1Only
    // Trying again is done in one place only, which counts.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.idleTimeout = .seconds(30)
    // A request that waits for one of the library's eight for longer than a connection may take
    // fails as if nobody answered: the datastores of an app, each with a long transfer, are more.
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
      HTTPConnections.perHostMax
    return configuration
  }

  private func message(
    _ request: HTTPRequest, _ headers: [(name: String, value: String)], _ watch: UploadWatch?
  ) -> HTTPClientRequest {
    var outgoing = HTTPClientRequest(url: request.url)
    outgoing.method = HTTPMethod(rawValue: request.method)
    for header in request.headers + headers {
      outgoing.headers.add(name: header.name, value: header.value)
    }
    // What says nothing of itself is taken for a robot by some proxies, and refused.
    if !outgoing.headers.contains(name: "User-Agent") {
      outgoing.headers.add(name: "User-Agent", value: "Cairn")
    }
    // Without it a server may pack what it sends as it likes (RFC 9110, 12.5.3).
    if !outgoing.headers.contains(name: "Accept-Encoding") {
      outgoing.headers.add(name: "Accept-Encoding", value: "identity")
    }
    switch request.body {
    case .none: break
    case .bytes(let bytes) where watch == nil: outgoing.body = .bytes(ByteBuffer(bytes: bytes))
    case .bytes, .part:
      let length = HTTPClientRequest.Body.Length.known(Int64(clamping: request.body.count))
      outgoing.body = .stream(BodyStream(body: request.body, watch: watch), length: length)
    }
    return outgoing
  }

  /// Begins a request, and gives it up if nothing of its body moves any more.
  private func execute(
    _ outgoing: HTTPClientRequest, _ client: HTTPClient, _ watch: UploadWatch?,
    _ request: HTTPRequest
  ) async throws -> HTTPClientResponse {
    let deadline = deadline(request)
    guard let watch else { return try await client.execute(outgoing, deadline: deadline) }
    return try await withThrowingTaskGroup(of: HTTPClientResponse?.self) { group in
      group.addTask { try await client.execute(outgoing, deadline: deadline) }
      group.addTask {
        try await watch.waitForStall()
        return nil
      }
      // What is still under way ends with that: the request, or who watches it.
      defer { group.cancelAll() }
      guard let first = try await group.next(), let response = first else {
        throw HTTPFailure(.stalled, request.label, "nothing moved for too long")
      }
      return response
    }
  }

  /// Sends a request once.
  func send<Sink: HTTPSink>(
    _ request: HTTPRequest, _ headers: [(name: String, value: String)], into sink: inout Sink,
    giving give: ([UInt8]) throws(CairnError) -> Void, meter: TrafficMeter
  ) async throws(HTTPFailure) -> HTTPReply {
    let client: HTTPClient
    let isLong = request.body.count > HTTPConnections.shortBytes
    do { client = try ready(isLong ? .long : .short) } catch {
      throw HTTPFailure(.settings(error), request.label, error.message)
    }
    let watch =
      isLong ? UploadWatch(of: request.body.count, stallSeconds: settings.stallSeconds) : nil
    let outgoing = message(request, headers, watch)
    var isAnswered = false
    do {
      let response = try await execute(outgoing, client, watch, request)
      meter.noteSent(request.body.count)
      isAnswered = true
      let reply = HTTPReply(response)
      try sink.begin(reply, request)
      var count: UInt64 = 0
      if request.method != "HEAD" {
        let start = now()
        for try await buffer in response.body {
          let bytes = Array(buffer.readableBytesView)
          count += UInt64(bytes.count)
          meter.noteReceived(UInt64(bytes.count))
          try sink.take(bytes, request)
          let given = sink.given()
          if !given.isEmpty { try give(given) }
          if sink.hasEnough { return reply }
          // The library looks at the pauses between bytes only, and they may be as long as that.
          guard start.duration(to: now()) < slowest(count) else {
            throw HTTPFailure(.stalled, request.label, "the answer only trickles")
          }
        }
        if let length = reply.length, count != length {
          throw HTTPFailure(.cut, request.label, "\(count) of \(length) bytes came")
        }
      }
      return reply
    } catch {
      let failure = HTTPFailure(network: error, request)
      // Without a connection nothing was sent.
      if !isAnswered, failure.kind != .connection, failure.kind != .tls {
        meter.noteSent(request.body.count)
      }
      throw failure
    }
  }

  /// By when the answer has to begin: a server that takes bytes one by one never stalls, and yet
  /// has to end some time.
  private func deadline(_ request: HTTPRequest) -> NIODeadline {
    let (seconds, _) = slowest(request.body.count &+ request.expected).components
    return .now() + amount(settings.connectSeconds) + .seconds(seconds)
  }

  /// How long so many bytes may take: four stalls, and a second for each KiB.
  private func slowest(_ bytes: UInt64) -> Duration {
    .seconds(min(4 * settings.stallSeconds + Double(bytes) / 1024, 1e9))
  }

  private func amount(_ seconds: Double) -> TimeAmount {
    .milliseconds(Int64(max(1, min(seconds * 1000, 86_400_000))))
  }
}

extension HTTPReply {
  fileprivate init(_ response: HTTPClientResponse) {
    var headers: [String: String] = [:]
    for (name, value) in response.headers {
      let key = name.lowercased()
      // A proxy may add its own to that of the server, which comes first, and there is no list of
      // dates.
      if HTTPReply.single.contains(key), headers[key] != nil { continue }
      headers[key] = headers[key].map { $0 + ", " + value } ?? value
    }
    self.init(
      status: Int(response.status.code), headers: headers,
      length: headers["content-length"].flatMap { UInt64($0) })
  }

  private static let single: Set<String> = ["date", "retry-after", "last-modified"]
}

extension HTTPFailure {
  /// What the network library threw.
  fileprivate init(network error: any Error, _ request: HTTPRequest) {
    if let failure = error as? HTTPFailure {
      self = failure
      return
    }
    let (kind, detail) = HTTPFailure.kind(error)
    self.init(kind, request.label, detail)
  }

  private static func kind(_ error: any Error) -> (Kind, String) {
    switch error {
    case let error as CairnError: (.settings(error), error.message)
    case is CancellationError: (.cancelled, "it was cancelled")
    case let error as HTTPClientError: kind(error)
    // These two are about the connection, and say nothing of who is at its other end.
    case NIOSSLError.uncleanShutdown:
      (.cut, "the connection closed in the middle of the answer")
    case let error as NIOSSLError
    where error == .handshakeFailed(.sslError([.eofDuringHandshake])):
      (.connection, "the connection closed before it was encrypted")
    case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
      (.tls, "no trusted connection: \(cause(error))")
    case let error as HTTPParserError:
      if case .invalidEOFState = error {
        (.cut, "the connection closed in the middle of the answer")
      } else {
        (.foreign, "what answers is no HTTP server")
      }
    case is NIOConnectionError: (.connection, "no connection: \(cause(error))")
    case let error as ChannelError:
      if case .connectTimeout = error {
        (.connection, "no connection in time")
      } else {
        (.cut, "the connection broke (\(error))")
      }
    default:
      // What the system says of a connection that did not come about has no type of its own.
      if ["connect(", "refused", "unreachable"].contains(where: "\(error)".contains) {
        (.connection, "no connection: \(cause(error))")
      } else {
        (.cut, "the connection broke (\(error))")
      }
    }
  }

  /// What the libraries say of it in words for their authors, in words for everybody.
  private static func cause(_ error: any Error) -> String {
    let text = "\(error)"
    let known = [
      ("failedToValidateHostname", "the server's certificate is for another name"),
      ("CERTIFICATE_VERIFY_FAILED", "nobody known vouches for the server's certificate"),
      ("WRONG_VERSION_NUMBER", "what answers there does not encrypt"),
      ("UnknownHost", "there is no server of that name, or no network"),
      ("refused", "nothing listens there (connection refused)"),
      ("unreachable", "the network does not reach it"),
    ]
    return known.first { text.contains($0.0) }?.1 ?? text
  }

  private static func kind(_ error: HTTPClientError) -> (Kind, String) {
    switch error {
    case .cancelled, .requestStreamCancelled: (.cancelled, "it was cancelled")
    case .connectTimeout, .getConnectionFromPoolTimeout:
      (.connection, "no connection in time")
    case .tlsHandshakeTimeout: (.connection, "no encrypted connection in time")
    case .readTimeout, .writeTimeout, .deadlineExceeded:
      (.stalled, "nothing moved for too long")
    case .invalidURL, .emptyHost, .emptyScheme:
      (.settings(CairnError(.illegalArgument, "the address can't be used")), "\(error)")
    default: (.cut, "the connection broke (\(error.shortDescription))")
    }
  }
}

/// A body as a stream, a piece in memory at a time.
private struct BodyStream: AsyncSequence, Sendable {
  typealias Element = ByteBuffer
  let body: HTTPRequest.Body
  /// Who is told that the piece before has gone, each time that another one is asked for.
  let watch: UploadWatch?

  struct AsyncIterator: AsyncIteratorProtocol {
    let body: HTTPRequest.Body
    let watch: UploadWatch?
    var rest: Range<UInt64>
    private static let pieceBytes: UInt64 = 128 << 10

    mutating func next() async throws -> ByteBuffer? {
      watch?.noteMoved()
      if rest.isEmpty { return nil }
      let end = Swift.min(rest.lowerBound + Self.pieceBytes, rest.upperBound)
      defer { rest = end..<rest.upperBound }
      return ByteBuffer(bytes: try body.slice(rest.lowerBound..<end))
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(body: body, watch: watch, rest: 0..<body.count)
  }
}
