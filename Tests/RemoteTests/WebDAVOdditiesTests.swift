import CairnLog
import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import CairnWebDAV
@testable import TestServers

/// What some servers, and proxies before them, do otherwise than the standard has it.
@Suite struct WebDAVOdditiesTests {
  typealias Bench = WebDAVFolderTests.Bench

  private let unknown = MemoryDAV.Manners(server: "Another/1")
  /// The name of a head.
  private let head = "d/" + FileName.head(device: 7)

  // MARK: moves

  /// By a proxy that does not pass on its own name the target of a move is on another server.
  @Test(arguments: [400, 403, 405, 409, 501, 502])
  func `where nothing is moved what is replaced is written under its own name`(
    _ status: Int
  ) async throws {
    let bench = try Bench(unknown)
    _ = try await bench.folder.write(head, [1])
    let memory = bench.memory
    bench.server.handle { asked in
      asked.method == "MOVE" ? .answer(status) : memory.answer(asked)
    }
    // One may be a server that was just starting.
    for bytes in [[1, 2], [3, 4]] as [[UInt8]] {
      let (entry, log) = try await bench.server.requests {
        try await bench.folder.write(head, bytes)
      }
      // A bad gateway may be a passing one, once.
      let moves = status == 502 ? "MOVE MOVE" : "MOVE"
      let methods = log.map { $0.split(separator: " ")[0] }.joined(separator: " ")
      #expect(methods == "PUT \(moves) PUT DELETE PROPFIND")
      #expect(entry.size == 2 && memory.bytes("f/" + head) == bytes)
      #expect(memory.names == ["f/" + head])
    }
    // It is not asked to again.
    let (_, third) = try await bench.server.requests {
      try await bench.folder.write(head, [1, 2, 3])
    }
    #expect(third == ["PUT /f/" + head])
    #expect(try await bench.folder.list("d").map(\.size) == [3])
  }

  @Test(arguments: [409, 502])
  func `one move that is refused says nothing of the next file`(_ status: Int) async throws {
    let bench = try Bench(unknown)
    let memory = bench.memory
    let isRefused = Shared(false)
    bench.server.handle { asked in
      asked.method == "MOVE" && isRefused.value ? .answer(status) : memory.answer(asked)
    }
    for number in 1...6 {
      isRefused.value = number.isMultiple(of: 2)
      let bytes = [UInt8](repeating: 7, count: number)
      let (_, log) = try await bench.server.requests { try await bench.folder.write(head, bytes) }
      #expect(log.contains { $0.hasPrefix("MOVE") }, "write \(number)")
      #expect(memory.bytes("f/" + head) == bytes && memory.names == ["f/" + head])
    }
  }

  @Test func `if that fails as well the error says what a proxy has to do`() async throws {
    let bench = try Bench(unknown)
    _ = try await bench.folder.write(head, [1])
    let (memory, name) = (bench.memory, "/f/" + head)
    bench.server.handle { asked in
      let isRefused = asked.method == "MOVE" || asked.method == "PUT" && asked.path == name
      return isRefused ? .answer(403) : memory.answer(asked)
    }
    for _ in 0..<2 {
      let (error, log) = await bench.server.requests {
        await #expect(throws: CairnError.self) { try await bench.folder.write(head, [1, 2]) }
      }
      #expect(error?.code == .auth)
      #expect(error?.message.contains("rewrite Destination") == true)
      #expect(log.map { $0.prefix(4) } == ["PUT ", "MOVE", "PUT ", "DELE"])
    }
    #expect(memory.names == ["f/" + head] && memory.bytes("f/" + head) == [1])
  }

  @Test func `a gateway that is bad once moves with the second try`() async throws {
    let bench = try Bench(unknown)
    _ = try await bench.folder.write(head, [1])
    let memory = bench.memory
    let moves = Shared(0)
    bench.server.handle { asked in
      if asked.method == "MOVE" { moves.value += 1 }
      return asked.method == "MOVE" && moves.value == 1 ? .answer(502) : memory.answer(asked)
    }
    _ = try await bench.folder.write(head, [1, 2])
    #expect(moves.value == 2)
    #expect(memory.names == ["f/" + head] && memory.bytes("f/" + head) == [1, 2])
  }

  @Test func `what is replaced or removed is not put into anybody's bin`() async throws {
    let bench = try Bench(unknown)
    let memory = bench.memory
    let seen = Shared<[String: String]>([:])
    bench.server.handle { asked in
      seen.value[asked.method] = asked["x-nc-skip-trashbin"] ?? ""
      return memory.answer(asked)
    }
    _ = try await bench.folder.write(head, [1])
    _ = try await bench.folder.list("d")
    try await bench.folder.remove(head)
    #expect(seen.value["MOVE"] == "true" && seen.value["DELETE"] == "true")
    #expect(seen.value["PUT"] == "" && seen.value["PROPFIND"] == "")
  }

  // MARK: directories

  @Test(arguments: [406, 409, 423, 501])
  func `a directory that is there is used, whatever is said to who would make it`(
    _ status: Int
  ) async throws {
    let bench = try Bench()
    _ = try await bench.folder.write("d/a.seg", [1])
    let memory = bench.memory
    bench.server.handle { asked in
      asked.method == "MKCOL" ? .answer(status) : memory.answer(asked)
    }
    // Of which nothing is remembered.
    let folder = try FolderKind.webDAV(.test).open("webdav+\(bench.server.origin)/f")
    _ = try await folder.write("d/b.seg", [2])
    #expect(memory.bytes("f/d/b.seg") == [2])
    // One that is not there is not made up.
    let error = await #expect(throws: CairnError.self) { try await folder.write("e/b.seg", [2]) }
    #expect(error?.message.contains("can't be made") == true)
    #expect(memory.bytes("f/e/b.seg") == nil)
  }

  @Test(arguments: [401, 403, 406, 409])
  func `what may not be looked at above a folder does not stand in its way`(
    _ status: Int
  ) async throws {
    let bench = try Bench()
    _ = try await bench.folder.write("a.seg", [1])
    let memory = bench.memory
    bench.server.handle { asked in
      asked.method == "MKCOL" && asked.path == "/f/" ? .answer(status) : memory.answer(asked)
    }
    let folder = try FolderKind.webDAV(.test).open("webdav+\(bench.server.origin)/f/u")
    _ = try await folder.write("d/b.seg", [2])
    #expect(memory.bytes("f/u/d/b.seg") == [2])
  }

  @Test func `who is not known above a folder is not asked further up`() async throws {
    let server = try TestServer { asked in
      guard asked.method == "MKCOL" else { return .answer(404) }
      return .answer(asked.path == "/f/u/v/d/" ? 409 : 401)
    }
    let folder = try FolderKind.webDAV(.test).open("webdav+\(server.origin)/f/u/v")
    let error = await #expect(throws: CairnError.self) { try await folder.write("d/b.seg", [2]) }
    #expect(error?.code == .auth)
    let made = server.log.filter { $0.hasPrefix("MKCOL") }
    #expect(made == ["MKCOL /f/u/v/d/", "MKCOL /f/u/v/", "MKCOL /f/u/v/d/"])
  }

  // MARK: IIS

  @Test func `not found for a long file in a directory that is there says that it is too long`()
    async throws
  {
    let bench = try Bench()
    _ = try await bench.folder.write("d/a.seg", [1])
    let memory = bench.memory
    bench.server.handle { asked in
      asked.method == "PUT" && asked.body.count > 1 << 20 ? .answer(404) : memory.answer(asked)
    }
    let error = await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/b.seg", [UInt8](repeating: 1, count: (1 << 20) + 1))
    }
    #expect(error?.code == .sizeLimit)
    _ = try await bench.folder.write("d/c.seg", [1])
  }

  @Test func `a file that is listed and not given is no file that has gone`() async throws {
    let bench = try Bench()
    _ = try await bench.folder.write(head, [1, 2])
    let (memory, folder) = (bench.memory, bench.folder)
    bench.server.handle { asked in
      asked.method == "GET" && asked.path.hasSuffix(".head") ? .answer(404) : memory.answer(asked)
    }
    // Nobody has said that it is there.
    #expect(try await folder.read(head, limit: 10) == nil)
    #expect(try await folder.list("d").count == 1)
    for isStream in [false, true] {
      let (error, log) = await bench.server.requests {
        await #expect(throws: CairnError.self) {
          if isStream {
            _ = try await folder.read(head, from: 0) { _ in }
          } else {
            _ = try await folder.read(head, limit: 10)
          }
        }
      }
      #expect(error?.code == .response)
      #expect(error?.message.contains("MIME type") == true)
      #expect(log.map { $0.prefix(4) } == ["GET ", "PROP", "GET ", "PROP"])
    }
    // It was only just being replaced.
    let first = bench.server.count
    bench.server.handle { $0.number == first ? .answer(404) : memory.answer($0) }
    #expect(try await folder.read(head, limit: 10) == [1, 2])
    // One that has gone is not there, and that is asked once.
    memory.put("f/" + head, nil)
    let (bytes, log) = try await bench.server.requests { try await folder.read(head, limit: 10) }
    #expect(bytes == nil && log.count == 2)
    #expect(try await folder.read(head, limit: 10) == nil)
    #expect(bench.server.count == first + 6)
  }

  @Test func `a report names the heads that a server lists and does not give`() async throws {
    let memory = MemoryDAV(MemoryDAV.Manners(clockTicks: true))
    let server = try TestServer { memory.answer($0) }
    let bench = try RemoteBench(.webDAV("\(server.origin)/f", .test), keeping: server)
    let a = try bench.open("a")
    try a.add("one")
    try await a.exchange()
    server.handle { asked in
      asked.method == "GET" && asked.path.hasSuffix(".head") ? .answer(404) : memory.answer(asked)
    }
    let b = try bench.open("b")
    let report = try await b.exchange()
    #expect(report.problems.contains { $0.reason.contains("MIME type") }, "\(report)")
    server.handle { memory.answer($0) }
    for _ in 0..<3 { try await b.pull() }
    #expect(try b.ids() == ["one"])
  }

  // MARK: lengths

  /// A server that lists files without their length, or with none that can be.
  private func lengthless(
    _ memory: MemoryDAV, _ length: String, saysIt: Bool
  ) -> TestServer.Handler {
    { asked in
      var asked = asked
      let isHead = asked.method == "HEAD"
      if isHead { asked.method = "GET" }
      guard case .answer(let status, var headers, var body) = memory.answer(asked) else {
        return .hangUp
      }
      if isHead, saysIt { headers.append(("Content-Length", "\(body.count)")) }
      if status == 207 {
        let text = String(decoding: body, as: UTF8.self)
        let element = #/<D:getcontentlength>[0-9]+</D:getcontentlength>/#
        body = Array(text.replacing(element, with: length).utf8)
      }
      return .answer(status, headers, body)
    }
  }

  @Test(arguments: ["", "<D:getcontentlength>-1</D:getcontentlength>"])
  func `a length that a listing lacks is asked for once`(_ length: String) async throws {
    let bench = try Bench(MemoryDAV.Manners(tagInAnswer: false))
    _ = try await bench.folder.write(head, [1, 2, 3])
    bench.memory.put("f/d/notes.txt", [1])
    bench.server.handle(lengthless(bench.memory, length, saysIt: true))
    bench.memory.pass(seconds: 10)
    let (entries, log) = try await bench.server.requests { try await bench.folder.list("d") }
    #expect(log == ["PROPFIND /f/d/", "HEAD /f/" + head])
    #expect(entries.first?.size == 3)
    let (again, second) = try await bench.server.requests { try await bench.folder.list("d") }
    #expect(second == ["PROPFIND /f/d/"])
    #expect(again == entries)
    bench.memory.put("f/" + head, [1, 2])
    #expect(try await bench.folder.list("d").first?.size == 2)
  }

  @Test(arguments: [403, 405, 501])
  func `a length that is refused is not asked for again before the file changes`(
    _ status: Int
  ) async throws {
    let bench = try Bench(MemoryDAV.Manners(tagInAnswer: false))
    _ = try await bench.folder.write(head, [1, 2, 3])
    let answer = lengthless(bench.memory, "", saysIt: true)
    bench.server.handle { $0.method == "HEAD" ? .answer(status) : answer($0) }
    bench.memory.pass(seconds: 10)
    for asks in [true, false] {
      let (entries, log) = try await bench.server.requests { try await bench.folder.list("d") }
      #expect(log == ["PROPFIND /f/d/"] + (asks ? ["HEAD /f/" + head] : []))
      #expect(entries.map(\.size) == [0])
    }
    bench.memory.put("f/" + head, [1, 2])
    let (_, log) = try await bench.server.requests { try await bench.folder.list("d") }
    #expect(log == ["PROPFIND /f/d/", "HEAD /f/" + head])
  }

  @Test func `a server that says no length at all is told`() async throws {
    let bench = try Bench()
    _ = try await bench.folder.write(head, [1, 2, 3])
    bench.server.handle(lengthless(bench.memory, "", saysIt: false))
    let error = await #expect(throws: CairnError.self) { try await bench.folder.list("d") }
    #expect(error?.code == .response)
    #expect(error?.message.contains("how long its files are") == true)
  }
}
