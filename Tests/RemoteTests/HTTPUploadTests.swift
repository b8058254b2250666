import Foundation
import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import TestServers

/// Bodies that are under way for longer than a stall, and those of which nothing moves.
@Suite struct HTTPUploadTests {
  typealias Bench = HTTPSessionTests.Bench

  private func put(
    _ bench: Bench, _ count: Int, isPart: Bool = false
  ) async throws(HTTPFailure) -> HTTPReply {
    var request = HTTPRequest("PUT", bench.server.origin, "/f", accepted: [201])
    let bytes = [UInt8](repeating: 7, count: count)
    request.body = isPart ? .part(BytesSource(bytes: bytes), 0..<UInt64(count)) : .bytes(bytes)
    return try await bench.session.send(request).reply
  }

  /// The system takes some of it at once, and the library all: neither says what the line does.
  @Test(arguments: [false, true])
  func `an upload may take longer than a stall as long as its bytes move`(
    _ isPart: Bool
  ) async throws {
    let size = 2 << 20
    let arrived = Shared(0)
    let bench = try Bench({ $0.stallSeconds = 10 }) { asked in
      arrived.value = asked.body.count
      return .answer(201)
    }
    // In 24 seconds, however many pieces it comes in.
    let start = Shared<ContinuousClock.Instant?>(nil)
    bench.server.pace { count in
      let first = start.value ?? .now
      start.value = first
      let due = Duration.seconds(24 * Double(count) / Double(size))
      while first.duration(to: .now) < due { Thread.sleep(forTimeInterval: 0.01) }
    }
    #expect(try await put(bench, size, isPart: isPart).status == 201)
    #expect(arrived.value == size)
    #expect(bench.server.log == ["PUT /f"])
    #expect(bench.session.meter.traffic.requests == 1)
  }

  /// Some make a hash of a file before they say that they have it.
  @Test func `a server may work for longer than a stall on what it has got`() async throws {
    let bench = try Bench({ $0.stallSeconds = 10 }) { _ in
      Thread.sleep(forTimeInterval: 14)
      return .answer(201)
    }
    #expect(try await put(bench, 100_000).status == 201)
    #expect(bench.server.log == ["PUT /f"])
  }

  /// One that the system takes as a whole, and one of which most is left.
  @Test(arguments: [100_000, 12 << 20], [false, true])
  func `a server that reads no more of a body has stalled`(
    _ size: Int, _ isPart: Bool
  ) async throws {
    let isOver = Shared(false)
    defer { isOver.value = true }
    let bench = try Bench({
      $0.stallSeconds = 0.2
      $0.attempts = 1
    }) { _ in .answer(201) }
    bench.server.pace { _ in while !isOver.value { Thread.sleep(forTimeInterval: 0.01) } }
    do throws(HTTPFailure) {
      _ = try await put(bench, size, isPart: isPart)
      Issue.record("it was answered")
    } catch {
      #expect(error.kind == .stalled)
      #expect(CairnError(error).code == .timeout)
    }
    #expect(bench.server.log == [])
  }

  @Test func `an answer to a long body that stops in its middle has stalled`() async throws {
    let bench = try Bench({
      $0.stallSeconds = 0.1
      $0.attempts = 1
    }) { _ in .trickle(10) }
    var request = HTTPRequest("PUT", bench.server.origin, "/f", accepted: [200])
    request.body = .bytes([UInt8](repeating: 7, count: 100_000))
    do throws(HTTPFailure) {
      _ = try await bench.session.send(request, limit: 2 << 20)
      Issue.record("it was answered")
    } catch { #expect(error.kind == .stalled) }
  }

  @Test func `a long upload ends when its task is cancelled`() async throws {
    let isOver = Shared(false)
    defer { isOver.value = true }
    let hasBegun = Shared(false)
    let bench = try Bench { _ in .answer(201) }
    bench.server.pace { _ in
      hasBegun.value = true
      while !isOver.value { Thread.sleep(forTimeInterval: 0.01) }
    }
    let task = Task { () -> HTTPFailure.Kind? in
      do throws(HTTPFailure) {
        _ = try await put(bench, 12 << 20)
        return nil
      } catch { return error.kind }
    }
    while !hasBegun.value { try await Task.sleep(for: .milliseconds(5)) }
    task.cancel()
    #expect(await task.value == .cancelled)
    #expect(bench.session.meter.traffic.requests == 1)
  }

  // MARK: headers

  @Test(arguments: [nil, "gzip"] as [String?])
  func `a request says who asks, and that nothing is to be packed unless it says so itself`(
    _ packing: String?
  ) async throws {
    let seen = Shared<[String?]>([])
    let bench = try Bench { asked in
      seen.value = [asked["user-agent"], asked["accept-encoding"]]
      return .answer(200)
    }
    var request = HTTPRequest("GET", bench.server.origin, "/f", accepted: [200])
    if let packing { request.headers = [("Accept-Encoding", packing)] }
    _ = try await bench.session.send(request)
    #expect(seen.value == ["Cairn", packing ?? "identity"])
  }

  @Test func `of two dates that a proxy leaves of one the first counts`() async throws {
    let bench = try Bench({ $0.attempts = 1 }) { _ in
      .answer(
        503,
        [
          ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("Date", "Sun, 06 Nov 1994 08:49:39 GMT"),
          ("Retry-After", "Sun, 06 Nov 1994 08:49:49 GMT"), ("Retry-After", "100"),
        ])
    }
    let failure = try #require(await bench.failure())
    #expect(failure.serverTime == 784_111_777_000)
    #expect(failure.retryAfter == 12)
  }
}
