import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import TestServers

/// Files of any length that come by requests, whatever the server makes of parts.
@Suite struct HTTPStreamTests {
  typealias Bench = HTTPSessionTests.Bench

  /// Files that somebody reads to their end.
  private func read(
    _ bench: Bench, from offset: UInt64 = 0
  ) async throws -> (bytes: [UInt8], log: [String]) {
    let request = HTTPRequest("GET", bench.server.origin, "/a", accepted: [])
    var found: [UInt8] = []
    let (isThere, log) = try await bench.server.requests {
      try await bench.session.read(request, from: offset) { found += $0 }
    }
    #expect(isThere)
    return (found, log)
  }

  @Test func `a server that knows no parts sends a long file once`() async throws {
    let block = SeededRandom(4).bytes(1 << 20)
    let bytes = (0..<12).flatMap { _ in block }
    let bench = try Bench { _ in .answer(200, [], bytes) }
    for start in [0, 7 << 20, bytes.count - 5] {
      let before = bench.session.meter.traffic.receivedBytes
      let (found, log) = try await read(bench, from: UInt64(start))
      #expect(found == Array(bytes[start...]))
      // Once to see that it sends all, of which no more than has come already is read.
      #expect(log.count == 2)
      let received = bench.session.meter.traffic.receivedBytes - before
      #expect(received <= UInt64(bytes.count))
    }
  }

  @Test func `who has all of a file is not sent it again`() async throws {
    let bytes = [UInt8](repeating: 7, count: 12 << 20)
    let bench = try Bench { _ in .answer(200, [], bytes) }
    for start in [bytes.count, bytes.count + 10] {
      let (found, log) = try await read(bench, from: UInt64(start))
      #expect(found == [])
      #expect(log.count == 1)
    }
    #expect(bench.session.meter.traffic.receivedBytes == 0)
    // Nothing is all of an empty file.
    bench.server.handle { _ in .answer(200) }
    #expect(try await read(bench).bytes == [])
  }

  @Test func `all of a long file without its length comes once, whatever was asked for`()
    async throws
  {
    let bytes = BytesSource.large + BytesSource.large
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    let size = String(bytes.count, radix: 16) + "\r\n"
    let reply = Array((head + size).utf8) + bytes + Array("\r\n0\r\n\r\n".utf8)
    let bench = try Bench { _ in .bytes(reply) }
    for start in [0, 5 << 20] {
      let (found, log) = try await read(bench, from: UInt64(start))
      #expect(found == Array(bytes[start...]))
      #expect(log.count == 1)
    }
  }

  @Test func `what came of a long file before the connection broke is not given again`()
    async throws
  {
    let block = SeededRandom(5).bytes(1 << 20)
    let bytes = (0..<10).flatMap { _ in block }
    let number = Shared(0)
    let bench = try Bench { asked in
      number.value += 1
      // The third try of the one that is read to its end.
      if number.value >= 4 { return .answer(200, [], bytes) }
      let half = bytes.count / 4 * number.value
      return .cut(200, [], Array(bytes[..<half]), says: bytes.count)
    }
    let (found, log) = try await read(bench)
    #expect(found == bytes)
    #expect(log.count == 4)
  }

  @Test func `a part that breaks is asked for again, and nothing is given twice`() async throws {
    let bytes = BytesSource.large
    let number = Shared(0)
    let bench = try Bench { asked in
      number.value += 1
      let reply = MemoryDAV.part(of: bytes, asked["range"], nil)
      guard number.value % 2 == 1, case .answer(let status, let headers, let body) = reply else {
        return reply
      }
      return .cut(status, headers, Array(body[..<(body.count / 2)]), says: body.count)
    }
    let (found, log) = try await read(bench)
    #expect(found == bytes)
    #expect(log.count == 6)
  }

  @Test func `a server that sends the same part for ever is told from one that goes on`() async {
    let error = await #expect(throws: HTTPFailure.self) {
      let bench = try Bench { _ in .answer(206, [("Content-Range", "bytes 0-9/100")], [1, 2]) }
      _ = try await read(bench)
    }
    #expect(error?.kind == .foreign)
  }

  @Test func `a long file for which a budget has no room is not begun`() async throws {
    let bytes = [UInt8](repeating: 65, count: 20 << 20)
    let bench = try Bench({ $0.budget = TransferBudget(bytesPerHour: 10 << 20) }) { _ in
      .answer(200, [], bytes)
    }
    let error = await #expect(throws: HTTPFailure.self) { try await read(bench) }
    #expect(error?.kind == .budget)
    #expect(bench.server.count == 1)
    #expect(bench.session.meter.traffic.receivedBytes == 0)
  }

  /// Requests that come while a part is under way have the other half of the budget.
  @Test func `a part takes no more than half of what a budget has left`() async throws {
    let bytes = SeededRandom(7).bytes(100_000)
    let ranges = Shared<[Int]>([])
    let bench = try Bench({ $0.budget = TransferBudget(bytesPerHour: 160_000) }) { asked in
      let ends = (asked["range"] ?? "").dropFirst(6).split(separator: "-").compactMap { Int($0) }
      if ends.count == 2 { ranges.value.append(ends[1] - ends[0] + 1) }
      return MemoryDAV.part(of: bytes, asked["range"], nil)
    }
    #expect(try await read(bench).bytes == bytes)
    // Of 150,000: the last 10,000 are for changes.
    #expect(ranges.value.first == 75_000)
    // From then on it is known how much is still to come.
    #expect(ranges.value.dropFirst().first == 25_000)
    ranges.value = []
    bench.clock.advance(by: 3_600_000)
    let request = HTTPRequest("GET", bench.server.origin, "/a", accepted: [])
    _ = try await bench.session.read(request, from: 0, of: 1000) { _ in }
    #expect(ranges.value.first == 1000)
  }

  @Test func `the last of a budget is for changes, and not for long files`() async throws {
    let bytes = SeededRandom(8).bytes(1 << 20)
    let bench = try Bench({ $0.budget = TransferBudget(bytesPerHour: 160_000) }) { asked in
      asked.path == "/a" ? MemoryDAV.part(of: bytes, asked["range"], nil) : .answer(200, [], [1])
    }
    let error = await #expect(throws: HTTPFailure.self) { try await read(bench) }
    #expect(error?.kind == .budget && error?.detail.contains("for changes") == true)
    let left = 160_000 - bench.session.meter.traffic.receivedBytes
    #expect(left >= 10_000 && left < 10_000 + 4096)
    // Which are made all the same.
    for _ in 0..<3 { #expect(try await bench.get("/b") == [1]) }
    var request = HTTPRequest("PUT", bench.server.origin, "/c", accepted: [200])
    request.body = .bytes([UInt8](repeating: 0, count: 9000))
    _ = try await bench.session.send(request)
  }

  @Test func `a file for which a budget has room in parts comes in parts`() async throws {
    let bytes = SeededRandom(6).bytes(1 << 20)
    let bench = try Bench({ $0.budget = TransferBudget(bytesPerHour: 600_000) }) { asked in
      MemoryDAV.part(of: bytes, asked["range"], nil)
    }
    let request = HTTPRequest("GET", bench.server.origin, "/f", accepted: [])
    var found: [UInt8] = []
    func rest() async -> HTTPFailure.Kind? {
      do throws(HTTPFailure) {
        #expect(try await bench.session.read(request, from: UInt64(found.count)) { found += $0 })
        return nil
      } catch { return error.kind }
    }
    var hours = 0
    var before: UInt64 = 0
    while let kind = await rest(), hours < 20 {
      #expect(kind == .budget)
      let received = bench.session.meter.traffic.receivedBytes
      #expect(received - before <= 600_000)
      (hours, before) = (hours + 1, received)
      bench.clock.advance(by: 3_600_000)
    }
    #expect(hours > 0)
    #expect(found == bytes)
  }
}
