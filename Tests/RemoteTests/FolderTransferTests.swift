import CairnDisk
import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import CairnS3
@testable import CairnWebDAV
@testable import TestServers

/// What a folder of each kind makes of answers that are lost, cut off or old, and of transfers that
/// do not come to their end.
@Suite struct FolderTransferTests {
  typealias Bench = FolderFailureBench

  @Test(arguments: Bench.Kind.allCases)
  func `what was done although its answer was lost is done once`(_ kind: Bench.Kind) async throws {
    let bench = try await Bench(kind)
    let lost = Shared<Set<String>>([])
    bench.server.handle { asked in
      let reply = bench.good(asked)
      // The first answer to each kind of request is lost.
      let name = asked.method + asked.query.keys.sorted().joined()
      return lost.value.insert(name).inserted ? .hangUp : reply
    }
    #expect(try await bench.folder.write("d/there.head", [9, 8]).size == 2)
    #expect(bench.bytes("d/there.head") == [9, 8])
    let large = BytesSource(bytes: BytesSource.large)
    #expect(try await bench.folder.write("d/a.snap", from: large).size == large.size)
    #expect(bench.bytes("d/a.snap") == large.bytes)
    #expect(try await bench.run(.read) == [9, 8])
    #expect(try await bench.folder.list("d").map(\.name) == ["a.snap", "there.head"])
    // What the lost answer said is gone already.
    try await bench.folder.remove("d/a.snap")
    bench.heal()
    #expect(try await bench.folder.list("d").map(\.name) == ["there.head"])
  }

  @Test(arguments: Bench.Kind.allCases)
  func `half an answer is tried again, and never taken for all`(_ kind: Bench.Kind) async throws {
    let bench = try await Bench(kind)
    let cut: TestServer.Handler = { asked in
      guard case .answer(let status, let headers, let body) = bench.good(asked) else {
        return .hangUp
      }
      return .cut(status, headers, Array(body[..<(body.count / 2)]), says: body.count + 1)
    }
    for act in [Bench.Act.list, .read, .stream] {
      let first = bench.server.count
      bench.server.handle { $0.number == first ? cut($0) : bench.good($0) }
      let whole = try await bench.run(act)
      #expect(whole == (act == .list ? Array("there.head".utf8) : [1, 2, 3]), "\(act)")
      bench.server.handle(cut)
      #expect(await bench.failure(act)?.code == .network, "\(act)")
    }
  }

  @Test(arguments: Bench.Kind.allCases, [10, 2 << 20, 9 << 20])
  func `a file of which the server keeps half is told, at once or by the next listing`(
    _ kind: Bench.Kind, _ size: Int
  ) async throws {
    let bench = try await Bench(kind)
    bench.server.handle { asked in
      var asked = asked
      if asked.method == "PUT" { asked.message.body.removeLast(asked.body.count / 2) }
      return bench.good(asked)
    }
    let bytes = Array(BytesSource.large.prefix(size))
    // A bucket is told the hash of each body, and refuses what has another one; of parts the one of
    // the tests looks at none.
    if kind == .s3, size < 5 << 20 {
      let error = await #expect(throws: CairnError.self) {
        try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
      }
      #expect(error?.code == .request && error?.message.contains("BadDigest") == true)
      #expect(bench.bytes("d/a.snap") == nil)
      return
    }
    _ = try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    let told = try await bench.folder.list("d").first { $0.name == "a.snap" }?.size
    #expect(told == UInt64(size / 2))
    #expect(bench.bytes("d/a.snap")?.count == size / 2)
  }

  @Test(arguments: Bench.Kind.allCases)
  func `a file that vanishes after it was listed is not there, at any place`(
    _ kind: Bench.Kind
  ) async throws {
    let bench = try await Bench(kind)
    let large = BytesSource(bytes: BytesSource.large)
    _ = try await bench.folder.write("d/a.snap", from: large)
    #expect(try await bench.folder.list("d").count == 2)
    let first = bench.server.count
    bench.server.handle { asked in
      // It goes when a part of it has come.
      if asked.number > first { bench.put("d/a.snap", nil) }
      return bench.good(asked)
    }
    var count = 0
    #expect(try await bench.folder.read("d/a.snap", from: 0) { count += $0.count } == false)
    #expect(count == 4 << 20)
    #expect(try await bench.folder.read("d/a.snap", from: 0) { _ in } == false)
    #expect(try await bench.folder.read("d/a.snap", limit: 10) == nil)
  }

  @Test(arguments: Bench.Kind.allCases)
  func `a listing is what the server says now, and never what it said before`(
    _ kind: Bench.Kind
  ) async throws {
    let bench = try await Bench(kind)
    let proxy = FaultMemory()
    let lie = Shared(FaultProxy.Fault?.none)
    bench.server.handle { asked in
      let reply = bench.good(asked)
      guard let fault = lie.value, proxy.allows(fault, asked) else {
        proxy.keep(asked, reply)
        return reply
      }
      return proxy.lie(fault, asked, reply) ?? reply
    }
    let old = try await bench.folder.list("d")
    _ = try await bench.folder.write("d/new.seg", [1])
    // As long as before.
    _ = try await bench.folder.write("d/there.head", [7, 7, 7])
    // Stale: as if nothing had happened, and what was there is not taken for what is.
    lie.value = .oldListing
    #expect(try await bench.folder.list("d").map(\.name) == old.map(\.name))
    #expect(try await bench.folder.read("d/new.seg", limit: 10) == [1])
    // In any order.
    lie.value = .mixedListing
    for _ in 0..<8 {
      #expect(try await bench.folder.list("d").map(\.name) == ["new.seg", "there.head"])
    }
    lie.value = nil
    let new = try await bench.folder.list("d")
    #expect(new.map(\.name) == ["new.seg", "there.head"])
    // Whoever believed the old one reads the file again now.
    #expect(new.last?.version != old.last?.version)
    #expect(new.last?.size == 3)
  }

  @Test(arguments: Bench.Kind.allCases, Bench.Act.allCases)
  func `a request under way ends with its task`(
    _ kind: Bench.Kind, _ act: Bench.Act
  ) async throws {
    let bench = try await Bench(kind)
    bench.server.handle { _ in .silence }
    let first = bench.server.count
    let task = Task { await bench.failure(act) }
    while bench.server.count == first { await Task.yield() }
    task.cancel()
    #expect(await task.value?.code == .cancelled)
    // What cleans up would be sent by nobody.
    #expect(bench.server.count == first + 1)
    #expect(bench.pauses.all == [])
  }

  @Test(arguments: Bench.Kind.allCases)
  func `a download that breaks goes on where it was, as often as it breaks`(
    _ kind: Bench.Kind
  ) async throws {
    let bench = try await Bench(kind)
    let large = BytesSource(bytes: BytesSource.large)
    _ = try await bench.folder.write("d/a.snap", from: large)
    let number = Shared(0)
    bench.server.handle { asked in
      let reply = bench.good(asked)
      number.value += 1
      guard number.value % 2 == 1, case .answer(let status, let headers, let body) = reply else {
        return reply
      }
      return .cut(status, headers, Array(body[..<(body.count / 2)]), says: body.count)
    }
    let before = try #require(bench.folder.traffic).receivedBytes
    // What somebody has of it already does not come at all.
    for start in [0, 3 << 20, large.bytes.count - 7] {
      var found: [UInt8] = []
      #expect(try await bench.folder.read("d/a.snap", from: UInt64(start)) { found += $0 })
      #expect(found == Array(large.bytes[start...]))
    }
    let received = try #require(bench.folder.traffic).receivedBytes - before
    // Nothing came twice, not even within a round.
    let wanted = large.bytes.count + large.bytes.count - (3 << 20) + 7
    #expect(received < UInt64(wanted) * 5 / 4)
  }

  @Test(arguments: Bench.Kind.allCases, [true, false])
  func `what comes in the middle of a file, and is not of it, is not its end`(
    _ kind: Bench.Kind, _ isPage: Bool
  ) async throws {
    let bench = try await Bench(kind)
    let large = BytesSource(bytes: BytesSource.large)
    _ = try await bench.folder.write("d/a.snap", from: large)
    // A network that wants a log-in, or a proxy that says in so many words that it is not well.
    let text = "<!DOCTYPE html><html><body>" + String(repeating: "Welcome ", count: 400)
    let page = isPage ? Reply.text(200, text, type: "text/html") : .text(200, "out of order")
    for start in [0, 4 << 20] {
      // The second part, in either case; of a page also the first answer to who has some already.
      for answer in isPage && start > 0 ? [0, 1] : [1] {
        let first = bench.server.count
        bench.server.handle { $0.number >= first + answer ? page : bench.good($0) }
        var count = 0
        let error = await #expect(throws: CairnError.self) {
          try await bench.folder.read("d/a.snap", from: UInt64(start)) { count += $0.count }
        }
        #expect(error?.code == .response, "\(start), \(answer)")
        #expect(count == answer * (4 << 20))
      }
    }
    bench.heal()
    var found: [UInt8] = []
    #expect(try await bench.folder.read("d/a.snap", from: 0) { found += $0 })
    #expect(found == large.bytes)
  }

  @Test(arguments: Bench.Kind.allCases)
  func `an upload that breaks sends again what has not arrived, and no half is ever in its place`(
    _ kind: Bench.Kind
  ) async throws {
    let bench = try await Bench(kind) { $0.attempts = 1 }
    let large = BytesSource(bytes: BytesSource.large)
    let ranges = Shared(0)
    let puts = Shared(0)
    let halves = Shared<[String]>([])
    bench.server.handle { asked in
      if asked["content-range"] != nil { ranges.value += 1 }
      guard asked.method == "PUT" else { return bench.good(asked) }
      puts.value += 1
      // The last of two parts, or the file.
      guard puts.value == (kind == .s3 ? 2 : 1) else { return bench.good(asked) }
      // What came of it shows, but on servers that are known to show whole files only.
      if kind == .unknown {
        let path = String(asked.path.dropFirst("/f/".count))
        bench.put(path, Array(asked.body.prefix(asked.body.count / 2)))
        halves.value.append(path)
      }
      return .hangUp
    }
    #expect(await bench.failure(.writeParts)?.code == .network)
    #expect(bench.bytes("d/large.snap") == nil)
    #expect(halves.value.count == (kind == .unknown ? 1 : 0))
    // Nor is it left under another name.
    #expect(halves.value.allSatisfy { bench.bytes($0) == nil })
    #expect(await bench.failure(.writeParts) == nil)
    #expect(bench.bytes("d/large.snap") == large.bytes)
    // By S3 the part that arrived is not sent again; WebDAV has nothing for that, and a PUT with a
    // range would destroy the file on some servers.
    #expect(puts.value == (kind == .s3 ? 3 : 2))
    #expect(ranges.value == 0)
  }

  @Test func `a file goes to a bucket part by part as the hours of a metered connection have room`()
    async throws
  {
    let bench = try await Bench(.s3) { $0.isMetered = { true } }
    #expect(await bench.failure(.writeParts)?.code == .quota)
    #expect(bench.bytes("d/large.snap") == nil)
    bench.clock.advance(by: 3_600_000)
    #expect(await bench.failure(.writeParts) == nil)
    #expect(bench.bytes("d/large.snap") == BytesSource.large)
    // Of the file that is there from the beginning, and of each part once.
    #expect(bench.server.log.count { $0.hasPrefix("PUT ") } == 3)
  }
}
