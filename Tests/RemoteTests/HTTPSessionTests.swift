import CairnDisk
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import CairnWebDAV
@testable import TestServers

/// What becomes of everything that a server, or a network, can do to a request.
@Suite struct HTTPSessionTests {
  /// A session whose pauses are noted and not waited for.
  struct Bench: Sendable {
    let server: TestServer
    let session: HTTPSession
    let clock: ManualClock

    init(
      credentials: CredentialSource = .none, _ change: (inout ServerSettings) -> Void = { _ in },
      now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
      handler: @escaping TestServer.Handler
    ) throws {
      server = try TestServer(handler)
      var settings = ServerSettings(credentials: credentials)
      // A machine that is busy with other tests has not stalled.
      (settings.connectSeconds, settings.stallSeconds) = (600, 600)
      change(&settings)
      clock = ManualClock(1_800_000_000_000)
      let machine = Machine(disk: PosixDisk(), clock: clock, random: SeededRandom(5))
      let noted = PauseLog()
      log = noted
      session = HTTPSession(
        HTTPConnections(settings, now: now), settings, credentials: nil,
        authorizer: PlainAuthorizer(), ledger: BudgetLedger(clock: clock), machine: machine,
        pause: { noted.add($0) })
    }

    let log: PauseLog

    func get(_ path: String = "/a", limit: Int = 1000) async throws(HTTPFailure) -> [UInt8] {
      try await session.send(
        HTTPRequest("GET", server.origin, path, accepted: [200]), limit: limit
      ).sink.bytes
    }

    /// Why a request fails; nil if it does not.
    func failure(_ path: String = "/a", limit: Int = 1000) async -> HTTPFailure? {
      do throws(HTTPFailure) {
        _ = try await get(path, limit: limit)
        return nil
      } catch { return error }
    }
  }

  final class PauseLog: Sendable {
    private let list = Lock<[Double]>([])
    var all: [Double] { list.withLock { $0 } }
    func add(_ pause: Double) { list.withLock { $0.append(pause) } }
  }

  // MARK: statuses

  @Test(
    arguments: [
      (401, CairnError.Code.auth), (403, .auth), (404, .notFound), (405, .server), (409, .server),
      (412, .server), (413, .quota), (501, .server), (507, .quota), (400, .request),
    ])
  func `a status that stays is an error at once`(_ status: Int, _ code: CairnError.Code)
    async throws
  {
    let bench = try Bench { _ in .text(status, "no") }
    let failure = try #require(await bench.failure())
    #expect(failure.kind == .status(status))
    #expect(CairnError(failure).code == code)
    #expect(bench.server.count == 1)
    #expect(String(decoding: failure.body, as: UTF8.self) == "no")
  }

  @Test(
    arguments: [
      (408, CairnError.Code.retryLater), (423, .retryLater), (429, .retryLater), (500, .server),
      (502, .server), (503, .retryLater), (504, .server), (520, .server), (524, .server),
      (530, .server),
    ])
  func `a status that passes is waited for`(_ status: Int, _ code: CairnError.Code) async throws {
    let bench = try Bench { asked in
      asked.number < 2 ? .text(status, "busy") : .answer(200, [], [1, 2])
    }
    #expect(try await bench.get() == [1, 2])
    #expect(bench.server.count == 3)
    #expect(bench.session.meter.traffic.retries == 2)
    bench.server.handle { _ in .text(status, "busy") }
    let failure = try #require(await bench.failure())
    #expect(CairnError(failure).code == code)
    // As often as the settings say, and no more.
    #expect(bench.server.count == 3 + 5)
  }

  @Test func `pauses double and have a random part`() async throws {
    let bench = try Bench({ $0.attempts = 6 }) { _ in .answer(503) }
    _ = await bench.failure()
    let pauses = bench.log.all
    #expect(pauses.count == 5)
    for (index, pause) in pauses.enumerated() {
      let longest = 0.5 * Double(1 << index)
      #expect(pause >= longest / 2 && pause <= longest)
    }
    #expect(Set(pauses.map { $0.truncatingRemainder(dividingBy: 0.25) }).count > 1)
  }

  @Test func `a server that says when to come back is believed`() async throws {
    let bench = try Bench { asked in
      asked.number == 0 ? .answer(429, [("Retry-After", "7")]) : .answer(200, [], [1])
    }
    #expect(try await bench.get() == [1])
    let pause = try #require(bench.log.all.first)
    // A little more, so that not all come back at once.
    #expect(pause >= 7 && pause < 7.8)
    // For longer than a round should last, the round ends.
    bench.server.handle { _ in .answer(503, [("Retry-After", "3600")]) }
    let failure = try #require(await bench.failure())
    #expect(failure.retryAfter == 3600)
    #expect(CairnError(failure).code == .retryLater)
    #expect(bench.log.all.count == 1)
    #expect(bench.server.count == 3)
    // Nor is it asked by the next one before that time.
    bench.server.handle { _ in .answer(200, [], [2]) }
    bench.clock.advance(by: 3_599_000)
    let early = try #require(await bench.failure())
    #expect(early.kind == .later)
    #expect(CairnError(early).code == .retryLater)
    #expect(CairnError(early).message.contains("another 1 s"))
    #expect(bench.server.count == 3)
    bench.clock.advance(by: 1000)
    #expect(try await bench.get() == [2])
  }

  @Test func `a server that is busy and says at once is not asked at once`() async throws {
    let bench = try Bench { _ in .answer(503, [("Retry-After", "0")]) }
    _ = await bench.failure()
    #expect(bench.log.all.count == 4)
    #expect(bench.log.all.allSatisfy { $0 >= 0.25 })
  }

  @Test func `a server that wants to be left alone is, by all datastores`() async throws {
    let server = try TestServer { _ in .answer(503, [("Retry-After", "600")]) }
    let kind = FolderKind.webDAV(.test)
    let folders = try (0..<2).map { try kind.open("webdav+\(server.origin)/f\($0)") }
    for folder in folders {
      let error = await #expect(throws: CairnError.self) { try await folder.list("d") }
      #expect(error?.code == .retryLater)
    }
    #expect(server.count == 1)
    // Another server is another one.
    let other = try TestServer { _ in .answer(404) }
    #expect(try await kind.open("webdav+\(other.origin)/f").list("d") == [])
  }

  @Test func `a date to come back at counts by the server's clock`() async throws {
    let bench = try Bench({ $0.attempts = 1 }) { _ in
      .answer(
        503,
        [
          ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),
          ("Retry-After", "Sun, 06 Nov 1994 08:49:49 GMT"),
        ])
    }
    #expect(await bench.failure()?.retryAfter == 12)
  }

  // MARK: broken connections

  @Test func `a connection that closes without an answer is tried again`() async throws {
    let bench = try Bench { asked in asked.number == 0 ? .hangUp : .answer(200, [], [9]) }
    #expect(try await bench.get() == [9])
    #expect(bench.server.count == 2)
  }

  @Test func `half an answer is none`() async throws {
    let bench = try Bench { asked in
      asked.number == 0 ? .cut(200, [], [1, 2, 3], says: 10) : .answer(200, [], [9])
    }
    #expect(try await bench.get() == [9])
    bench.server.handle { _ in .cut(200, [], [1, 2, 3], says: 10) }
    let failure = try #require(await bench.failure())
    #expect(failure.kind == .cut)
    #expect(CairnError(failure).code == .network)
  }

  @Test func `a server that says nothing has stalled`() async throws {
    let bench = try Bench({
      $0.stallSeconds = 0.2
      $0.attempts = 2
    }) { _ in .silence }
    let failure = try #require(await bench.failure())
    #expect(failure.kind == .stalled)
    #expect(CairnError(failure).code == .timeout)
    #expect(bench.server.count == 2)
  }

  @Test func `an answer that trickles has stalled, too`() async throws {
    // A clock that runs a hundred times as fast: no pause between two bytes comes near the stall,
    // which on a busy machine a second would not.
    let start = ContinuousClock.now
    let bench = try Bench({
      $0.stallSeconds = 120
      $0.attempts = 1
    }, now: { start + start.duration(to: .now) * 100 }) { _ in .trickle(0.02) }
    let failure = try #require(await bench.failure(limit: 1 << 20))
    #expect(failure.kind == .stalled)
    #expect(failure.detail.contains("trickles"))
    #expect(bench.server.count == 1)
  }

  @Test func `nobody listens`() async throws {
    let bench = try Bench({ $0.attempts = 2 }) { _ in .answer(200) }
    bench.server.stop()
    let failure = try #require(await bench.failure())
    #expect(failure.kind == .connection)
    #expect(CairnError(failure).code == .noConnection)
  }

  @Test func `what is no HTTP is none`() async throws {
    let bench = try Bench { _ in .bytes(Array("SSH-2.0-OpenSSH_9\r\n".utf8)) }
    let failure = try #require(await bench.failure())
    #expect(failure.kind == .foreign)
    #expect(CairnError(failure).code == .response)
  }

  @Test func `an unencrypted server is not trusted where encryption was asked for`() async throws {
    let bench = try Bench({ $0.attempts = 1 }) { _ in .answer(200) }
    let origin = bench.server.origin.replacingOccurrences(of: "http:", with: "https:")
    do throws(HTTPFailure) {
      _ = try await bench.session.send(HTTPRequest("GET", origin, "/", accepted: [200]))
      Issue.record("it was answered")
    } catch {
      #expect(error.kind == .tls)
      #expect(CairnError(error).code == .ssl)
    }
  }

  @Test func `nothing older than TLS 1.2 is agreed to`() async throws {
    let bench = try Bench({ $0.attempts = 1 }) { _ in .answer(200) }
    let origin = bench.server.origin.replacingOccurrences(of: "http:", with: "https:")
    await #expect(throws: HTTPFailure.self) {
      _ = try await bench.session.send(HTTPRequest("GET", origin, "/", accepted: [200]))
    }
    // The versions that the client's first message offers (RFC 8446, 4.2.1): 1.3 and 1.2.
    let offer: [UInt8] = [0, 0x2B, 0, 5, 4, 3, 4, 3, 3]
    #expect(bench.server.hello.firstRange(of: offer) != nil)
  }

  // MARK: what is not from the server

  @Test func `the log-in page of a network is no answer`() async throws {
    let page = "<html><body>Welcome to the airport</body></html>"
    let bench = try Bench { _ in .text(200, page, type: "text/html; charset=utf-8") }
    let failure = try #require(await bench.failure())
    #expect(failure.kind == .foreign)
    #expect(CairnError(failure).code == .response)
    #expect(bench.server.count == 1)
  }

  static let pages = [
    "<!DOCTYPE html><html></html>", "\u{FEFF}\n<html><body>", "<!-- hello --><p>",
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE html PUBLIC><html/>",
    "\u{FEFF}<?xml version='1.0'?> <HTML xmlns='x'>",
  ]

  @Test(arguments: pages, [1, 2, 3, 1000])
  func `a page is told from an answer however it comes`(_ page: String, _ size: Int) async throws {
    let bytes = Array(page.utf8)
    let head =
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    var chunks: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      let chunk = bytes[start..<min(start + size, bytes.count)]
      chunks += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Array("\r\n".utf8)
    }
    let all = Array(head.utf8) + chunks + Array("0\r\n\r\n".utf8)
    let bench = try Bench { _ in .bytes(all) }
    #expect(await bench.failure()?.kind == .foreign)
    for count in 0..<bytes.count { #expect(WebPage.begins(Array(bytes[..<count])) != false) }
  }

  @Test(arguments: ["", "<?xml version=\"1.0\"?><a/>", "CAIRNSEG"])
  func `what is only called a page is an answer`(_ body: String) async throws {
    let bench = try Bench { _ in .text(200, body, type: "text/html; charset=utf-8") }
    #expect(try await bench.get() == Array(body.utf8))
  }

  @Test func `a redirection to another server is not followed`() async throws {
    let other = try TestServer { _ in .answer(200, [], [1]) }
    let target = other.origin + "/login?token=secret"
    let bench = try Bench(credentials: .given(.password(user: "ana", password: "pw"))) { _ in
      .answer(302, [("Location", target)])
    }
    let failure = try #require(await bench.failure())
    #expect(failure.kind == .redirect)
    #expect(!failure.detail.contains("secret"))
    #expect(other.count == 0)
  }

  @Test func `a redirection on the same server is followed`() async throws {
    let bench = try Bench { asked in
      switch asked.path {
      case "/a": .answer(301, [("Location", "/b")])
      case "/b": .answer(308, [("Location", "/c")])
      default: .answer(200, [], [4])
      }
    }
    #expect(try await bench.get() == [4])
    bench.server.handle { asked in .answer(302, [("Location", asked.path + "x")]) }
    #expect(await bench.failure()?.kind == .redirect)
  }

  @Test func `a server that wants Digest only is told as such`() async throws {
    let bench = try Bench { _ in .answer(401, [("WWW-Authenticate", "Digest realm=\"dav\"")]) }
    let failure = try #require(await bench.failure())
    #expect(failure.kind == .status(401))
    #expect(CairnError(failure).message.contains("let it ask for Basic"))
    bench.server.handle { _ in
      .answer(401, [("WWW-Authenticate", "Digest realm=\"dav\", Basic realm=\"dav\"")])
    }
    #expect(await bench.failure().map { CairnError($0).message.contains("Digest") } == false)
  }

  // MARK: sizes

  @Test func `an answer above the limit is not taken`() async throws {
    let bench = try Bench { _ in .answer(200, [], [UInt8](repeating: 1, count: 1001)) }
    #expect(await bench.failure(limit: 1000)?.kind == .tooLarge)
    #expect(try await bench.get(limit: 1001).count == 1001)
  }

  @Test func `bytes and requests are counted`() async throws {
    let bench = try Bench { asked in .answer(200, [], [UInt8](repeating: 0, count: 300)) }
    var request = HTTPRequest("PUT", bench.server.origin, "/f", accepted: [200])
    request.body = .part(BytesSource(bytes: [UInt8](repeating: 3, count: 600_000)), 100..<500_100)
    _ = try await bench.session.send(request)
    let traffic = bench.session.meter.traffic
    // On a machine that has much to do a try may come too late.
    #expect(traffic.requests == 1 + traffic.retries)
    #expect(traffic.requests >= bench.server.count)
    #expect((500_000...500_000 * UInt64(traffic.requests)).contains(traffic.sentBytes))
    #expect(traffic.receivedBytes >= 300)
  }

  @Test func `a part of a file arrives as it is`() async throws {
    let bytes = SeededRandom(8).bytes(700_000)
    let bench = try Bench { asked in
      .answer(200, [], asked.body == Array(bytes[1000..<650_000]) ? [1] : [0])
    }
    var request = HTTPRequest("PUT", bench.server.origin, "/f", accepted: [200])
    request.body = .part(BytesSource(bytes: bytes), 1000..<650_000)
    #expect(try await bench.session.send(request).sink.bytes == [1])
  }

  // MARK: budgets

  @Test func `a budget of requests holds for an hour`() async throws {
    let bench = try Bench({ $0.budget = TransferBudget(requestsPerHour: 3) }) { _ in .answer(200) }
    for _ in 0..<3 { _ = try await bench.get() }
    let failure = try #require(await bench.failure())
    #expect(failure.kind == .budget)
    #expect(CairnError(failure).code == .quota)
    #expect(bench.server.count == 3)
    bench.clock.advance(by: 59 * 60_000)
    #expect(await bench.failure()?.kind == .budget)
    bench.clock.advance(by: 60_000)
    #expect(try await bench.get() == [])
  }

  @Test func `a body for which a budget has no room is not sent`() async throws {
    let bench = try Bench({ $0.budget = TransferBudget(bytesPerHour: 1000) }) { _ in .answer(200) }
    func put(_ count: Int, endsWhatWasBegun: Bool = false) async -> HTTPFailure.Kind? {
      var request = HTTPRequest("PUT", bench.server.origin, "/f", accepted: [200])
      request.body = .bytes([UInt8](repeating: 1, count: count))
      request.endsWhatWasBegun = endsWhatWasBegun
      do throws(HTTPFailure) {
        _ = try await bench.session.send(request)
        return nil
      } catch { return error.kind }
    }
    #expect(await put(1001) == .budget)
    #expect(bench.server.count == 0)
    #expect(await put(600) == nil)
    #expect(await put(401) == .budget)
    #expect(await put(400) == nil)
    #expect(await put(1) == .budget)
    #expect(await put(1, endsWhatWasBegun: true) == nil)
    #expect(bench.server.count == 3)
    bench.clock.advance(by: 3_600_000)
    #expect(await put(1000) == nil)
  }

  @Test func `bytes that were reserved and did not come are free again`() async throws {
    let bench = try Bench({
      $0.budget = TransferBudget(bytesPerHour: 5 << 20)
      $0.attempts = 1
    }) { _ in .answer(200, [], [1, 2]) }
    var request = HTTPRequest("GET", bench.server.origin, "/f", accepted: [200])
    // Reserved are 2 MiB each, of which there is room for two, and used two bytes.
    request.expected = 2 << 20
    for _ in 0..<3 { #expect(try await bench.session.send(request).sink.bytes == [1, 2]) }
    #expect(bench.server.count == 3)
  }

  @Test func `a long body leaves the last of a budget to listings and changes`() async throws {
    let bench = try Bench({ $0.budget = TransferBudget(bytesPerHour: 160_000) }) { _ in
      .answer(200)
    }
    func put(_ count: Int) async -> HTTPFailure.Kind? {
      var request = HTTPRequest("PUT", bench.server.origin, "/f", accepted: [200])
      request.body = .bytes([UInt8](repeating: 1, count: count))
      do throws(HTTPFailure) {
        _ = try await bench.session.send(request)
        return nil
      } catch { return error.kind }
    }
    // The last 10,000.
    #expect(await put(150_001) == .budget)
    #expect(await put(80_000) == nil)
    #expect(await put(70_001) == .budget)
    #expect(await put(70_000) == nil)
    #expect(await put(10_000) == nil)
    #expect(await put(1) == .budget)
  }

  @Test func `a metered connection has a budget of its own`() async throws {
    let isMetered = Shared(false)
    let bench = try Bench({
      $0.meteredBudget = TransferBudget(bytesPerHour: 1000)
      $0.isMetered = { isMetered.value }
    }) { _ in .answer(200, [], [UInt8](repeating: 1, count: 600)) }
    for _ in 0..<5 { _ = try await bench.get() }
    isMetered.value = true
    #expect(await bench.failure()?.kind == .budget)
    isMetered.value = false
    #expect(try await bench.get().count == 600)
  }

  // MARK: cancellation

  @Test func `a request under way ends when its task is cancelled`() async throws {
    let bench = try Bench { _ in .silence }
    let task = Task { await bench.failure() }
    while bench.server.count == 0 { await Task.yield() }
    task.cancel()
    let failure = try #require(await task.value)
    #expect(failure.kind == .cancelled)
    #expect(CairnError(failure).code == .cancelled)
    #expect(bench.server.count == 1)
  }
}

/// A value that a test and closures share.
final class Shared<Value: Sendable>: Sendable {
  private let lock: Lock<Value>
  init(_ value: Value) { lock = Lock(value) }
  var value: Value {
    get { lock.withLock { $0 } }
    set { lock.withLock { $0 = newValue } }
  }
}

extension HTTPSessionTests {
  @Test func `what a server says of a file that is not there may be long`() async throws {
    let bench = try Bench { _ in .answer(404, [], [UInt8](repeating: 65, count: 5000)) }
    let request = HTTPRequest("GET", bench.server.origin, "/a", accepted: [200, 404])
    let answer = try await bench.session.send(request, limit: 10)
    #expect(answer.reply.status == 404)
    #expect(answer.sink.bytes == [])
  }

  @Test func `an answer that nobody wants need not come to its end`() async throws {
    let page = [UInt8](repeating: 65, count: 16 << 20)
    let bench = try Bench { _ in .answer(403, [], page) }
    #expect(await bench.failure()?.kind == .status(403))
    #expect(bench.session.meter.traffic.receivedBytes < 8 << 20)
  }

  @Test func `a file of any length may be looked at`() async throws {
    let bench = try Bench { _ in .answer(200, [("Content-Length", "1000000000")]) }
    let request = HTTPRequest("HEAD", bench.server.origin, "/a", accepted: [200])
    #expect(try await bench.session.send(request, limit: 10).reply.length == 1_000_000_000)
  }
}
