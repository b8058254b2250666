import CairnDisk
import Foundation
import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import CairnS3
@testable import CairnWebDAV
@testable import TestServers

/// What a folder of each kind makes of each answer, whatever it has asked for.
@Suite struct FolderAnswerTests {
  typealias Bench = FolderFailureBench

  @Test(
    arguments: Bench.Kind.allCases,
    [
      (401, CairnError.Code.auth), (403, .auth), (405, .server), (412, .server),
      (501, .server), (507, .quota),
    ])
  func `a refusal ends it at once, and is told`(
    _ kind: Bench.Kind, _ answer: (status: Int, code: CairnError.Code)
  ) async throws {
    let bench = try await Bench(kind)
    bench.server.handle { _ in .text(answer.status, "no") }
    for act in Bench.Act.allCases {
      let error = try #require(await bench.failure(act), "\(act)")
      #expect(error.code == answer.code, "\(act): \(error)")
      #expect(error.message.contains("\(answer.status)"), "\(act): \(error)")
    }
    #expect(bench.pauses.all == [])
    // Nothing was replaced or removed.
    #expect(bench.bytes("d/there.head") == [1, 2, 3])
    #expect(bench.bytes("d/large.snap") == nil)
  }

  @Test(arguments: Bench.Kind.allCases, [Bench.Act.write, .writeParts])
  func `a file that is too large for the server is told from one for which there is no room`(
    _ kind: Bench.Kind, _ act: Bench.Act
  ) async throws {
    let bench = try await Bench(kind)
    bench.server.handle { asked in
      asked.method == "PUT" ? .text(413, "no") : bench.good(asked)
    }
    let error = try #require(await bench.failure(act))
    #expect(error.code == .sizeLimit)
    #expect(error.message.contains("413") && error.message.contains("client_max_body_size"))
    #expect(bench.pauses.all == [])
    #expect(bench.bytes("d/there.head") == [1, 2, 3])
    #expect(bench.bytes("d/large.snap") == nil)
  }

  @Test(arguments: Bench.Kind.allCases)
  func `what is not there is told from what can't be had`(_ kind: Bench.Kind) async throws {
    let bench = try await Bench(kind)
    bench.server.handle { _ in .answer(404) }
    #expect(try await bench.folder.read("d/a", limit: 10) == nil)
    #expect(try await bench.folder.read("d/a", from: 0) { _ in } == false)
    #expect(await bench.failure(.remove) == nil)
    // A directory need not be there; a bucket has to be.
    #expect(await bench.failure(.list)?.code == (kind == .s3 ? .notFound : nil))
    for act in [Bench.Act.write, .writeParts] {
      let code = await bench.failure(act)?.code
      #expect(code == (kind == .s3 ? .notFound : .server), "\(act)")
    }
  }

  @Test(arguments: Bench.Kind.allCases)
  func `a write into a directory that is gone makes it, or says that it can't`(
    _ kind: Bench.Kind
  ) async throws {
    let bench = try await Bench(kind)
    bench.server.handle { _ in .answer(409) }
    for act in [Bench.Act.write, .writeParts] {
      #expect(await bench.failure(act)?.code == .server, "\(act)")
    }
    #expect(bench.pauses.all == [])
  }

  @Test(
    arguments: Bench.Kind.allCases,
    [
      (408, CairnError.Code.retryLater), (423, .retryLater), (429, .retryLater), (500, .server),
      (502, .server), (503, .retryLater), (504, .server),
    ])
  func `what passes is tried again, with pauses that grow and are never the same`(
    _ kind: Bench.Kind, _ answer: (status: Int, code: CairnError.Code)
  ) async throws {
    // What is sent in parts is the same request, and nine MiB each time.
    for act in Bench.Act.allCases where act != .writeParts || answer.status == 503 {
      let bench = try await Bench(kind)
      let first = bench.server.count
      bench.server.handle { asked in
        asked.number < first + 2 ? .answer(answer.status) : bench.good(asked)
      }
      try await bench.run(act)
      #expect(bench.pauses.all.count == 2, "\(act)")
      bench.server.handle { _ in .answer(answer.status) }
      #expect(await bench.failure(act)?.code == answer.code, "\(act)")
      // Of the tries of one request; some acts clean up by another one.
      let pauses = bench.pauses.all.dropFirst(2).prefix(4)
      #expect(pauses.count == 4, "\(act)")
      for (index, pause) in pauses.enumerated() {
        let longest = 0.5 * Double(1 << index)
        #expect(pause >= longest / 2 && pause <= longest, "\(act)")
      }
      #expect(Set(pauses.map { $0.truncatingRemainder(dividingBy: 0.25) }).count > 1, "\(act)")
    }
  }

  @Test(arguments: Bench.Kind.allCases, Bench.Act.allCases)
  func `a server that says when to come back is believed`(
    _ kind: Bench.Kind, _ act: Bench.Act
  ) async throws {
    let bench = try await Bench(kind)
    let first = bench.server.count
    bench.server.handle { asked in
      asked.number == first ? .answer(503, [("Retry-After", "7")]) : bench.good(asked)
    }
    try await bench.run(act)
    let pause = try #require(bench.pauses.all.first)
    #expect(pause >= 7 && pause < 7.8)
    // Longer than a round should wait.
    bench.server.handle { _ in .answer(429, [("Retry-After", "3600")]) }
    let error = await bench.failure(act)
    #expect(error?.code == .retryLater && error?.message.contains("3600 seconds") == true)
    let count = bench.server.count
    #expect(await bench.failure(act)?.code == .retryLater)
    #expect(bench.server.count == count)
    bench.heal()
    bench.clock.advance(by: 3_600_000)
    #expect(await bench.failure(act) == nil)
  }

  @Test(arguments: Bench.Kind.allCases)
  func `the log-in page of a network is no answer to anything`(_ kind: Bench.Kind) async throws {
    let bench = try await Bench(kind)
    bench.server.handle { _ in
      .text(200, "<!DOCTYPE html><html><body>Welcome</body></html>", type: "text/html")
    }
    for act in Bench.Act.allCases {
      #expect(await bench.failure(act)?.code == .response, "\(act)")
    }
    #expect(bench.pauses.all == [])
    bench.heal()
    #expect(try await bench.folder.list("d").map(\.name) == ["there.head"])
  }

  @Test(arguments: Bench.Kind.allCases)
  func `nothing is sent to another server, whatever a redirection says`(
    _ kind: Bench.Kind
  ) async throws {
    let bench = try await Bench(kind)
    let other = try TestServer { _ in .answer(200) }
    bench.server.handle { _ in .answer(302, [("Location", other.origin + "/login?token=secret")]) }
    for act in Bench.Act.allCases {
      let error = await bench.failure(act)
      #expect(error?.code == .response, "\(act)")
      #expect(error?.message.contains("secret") == false, "\(act)")
    }
    #expect(other.count == 0)
  }

  @Test(arguments: Bench.Kind.allCases, [301, 302, 307, 308])
  func `a redirection to another path of the same server is followed`(
    _ kind: Bench.Kind, _ status: Int
  ) async throws {
    let bench = try await Bench(kind)
    let origin = bench.server.origin
    bench.server.handle { asked in
      guard asked.path.hasPrefix("/old") else {
        return .answer(status, [("Location", "/old" + asked.path)])
      }
      var asked = asked
      asked.path = String(asked.path.dropFirst(4))
      if asked.method == "MOVE" {
        // What is to be moved elsewhere is not here any more.
        guard let target = asked["destination"], target.hasPrefix(origin + "/old/") else {
          return .answer(404)
        }
        asked.message.headers.removeAll { $0.name.lowercased() == "destination" }
        let path = String(target.dropFirst((origin + "/old").count))
        asked.message.headers.append((name: "Destination", value: origin + path))
      }
      return bench.good(asked)
    }
    // What is sent in parts is nine MiB each time.
    for act in Bench.Act.allCases where act != .writeParts || status == 307 {
      #expect(await bench.failure(act) == nil, "\(act)")
    }
    #expect(bench.bytes("d/there.head") == nil)
    // A directory that is not there yet is made there, too.
    #expect(try await bench.folder.write("new/x.head", [6, 7, 8]).size == 3)
    #expect(bench.bytes("new/x.head") == [6, 7, 8])
    #expect(bench.pauses.all == [])
  }

  @Test(arguments: [Bench.Kind.webDAV, .unknown])
  func `a directory that is there may say so by a redirection to itself`(
    _ kind: Bench.Kind
  ) async throws {
    let bench = try await Bench(kind)
    let inner = "http://inner:8080/dav"
    _ = try await bench.folder.write("e/a.head", [1])
    // To its own path, or to one that only a proxy before the server knows.
    for start in ["", bench.server.origin, inner] {
      bench.server.handle { asked in
        if asked.method == "MKCOL" { return .answer(301, [("Location", start + asked.path)]) }
        return bench.good(asked)
      }
      // Nothing is remembered of it any more.
      #expect(try await bench.folder.list("not-there") == [])
      let (entry, log) = try await bench.server.requests {
        try await bench.folder.write("e/a.head", [2, 3])
      }
      #expect(entry.size == 2)
      #expect(log.first == "MKCOL /f/e/")
      #expect(bench.bytes("e/a.head") == [2, 3])
    }
  }

  @Test(arguments: Bench.Kind.allCases)
  func `who does not encrypt is not trusted where that was asked for`(
    _ kind: Bench.Kind
  ) async throws {
    let bench = try await Bench(kind)
    let origin = bench.server.origin.replacingOccurrences(of: "http:", with: "https:")
    var settings = ServerSettings.test
    settings.attempts = 1
    let folder =
      kind == .s3
      ? try FolderKind.s3(settings).open("s3://cairn/f?endpoint=\(origin)")
      : try FolderKind.webDAV(settings).open("webdav+\(origin)/f")
    let error = await #expect(throws: CairnError.self) { try await folder.list("d") }
    #expect(error?.code == .ssl)
    let written = await #expect(throws: CairnError.self) { try await folder.write("d/a", [1]) }
    #expect(written?.code == .ssl)
  }
}
