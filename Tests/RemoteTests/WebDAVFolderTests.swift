import CairnLog
import Foundation
import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import CairnWebDAV
@testable import TestServers

/// What WebDAV servers do differently.
@Suite struct WebDAVFolderTests {
  struct Bench: Sendable {
    let memory: MemoryDAV
    let server: TestServer
    let folder: any Folder

    init(_ manners: MemoryDAV.Manners = MemoryDAV.Manners()) throws {
      let memory = MemoryDAV(manners)
      self.memory = memory
      server = try TestServer { memory.answer($0) }
      folder = try FolderKind.webDAV(.test).open("webdav+\(server.origin)/f")
    }
  }

  // MARK: writing

  @Test func `a server that shows whole files gets each with one request`() async throws {
    let bench = try Bench()
    _ = try await bench.folder.write("d/a.head", [1])
    let (entry, log) = try await bench.server.requests {
      try await bench.folder.write("d/b.seg", [1, 2])
    }
    #expect(log == ["PUT /f/d/b.seg"])
    // The answer's tag is that of the listing: what was written need not be read back.
    #expect(try await bench.folder.list("d").last?.version == entry.version)
  }

  /// By which an application betrays itself that answers behind the name of a known server, and
  /// some of which only its listings have.
  static let applications = [
    ("DAV", "1, 3, extended-mkcol, access-control"), ("OC-FileId", "00000012oc"),
    ("X-OC-MTime", "accepted"), ("X-Powered-By", "PHP/8.2.1"), ("X-Sabre-Version", "4.6.0"),
    ("Set-Cookie", "session=1"), ("Via", "1.1 proxy"),
  ]

  @Test(arguments: applications, ["PROPFIND", "PUT", ""])
  func `what answers behind a known server's name is not taken for it`(
    _ header: (String, String), _ method: String
  ) async throws {
    let bench = try Bench(MemoryDAV.Manners(server: "Apache/2.4.71 (Debian)"))
    let memory = bench.memory
    bench.server.handle { asked in
      let reply = memory.answer(asked)
      guard asked.method == method, case .answer(let status, let headers, let body) = reply else {
        return reply
      }
      return .answer(status, headers + [header], body)
    }
    _ = try await bench.folder.write("d/a.head", [1])
    _ = try await bench.folder.list("d")
    // An answer that has none of it says nothing against what was seen.
    #expect(try await bench.folder.read("d/a.head", limit: 10) == [1])
    let (_, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.head", [1, 2])
    }
    #expect(log.map { $0.prefix(4) } == (method.isEmpty ? ["PUT "] : ["PUT ", "MOVE"]))
    #expect(bench.memory.bytes("f/d/a.head") == [1, 2])
  }

  @Test(arguments: ["Apache/2.4.71 (Debian)", "nginx/1.22.1", "lighttpd/1.4.69"])
  func `what the modules of known servers say of WebDAV is nothing against them`(
    _ server: String
  ) async throws {
    let bench = try Bench(MemoryDAV.Manners(server: server))
    let memory = bench.memory
    bench.server.handle { asked in
      guard case .answer(let status, let headers, let body) = memory.answer(asked) else {
        return .hangUp
      }
      return .answer(status, headers + [("DAV", "1,2,3"), ("MS-Author-Via", "DAV")], body)
    }
    _ = try await bench.folder.write("d/a.head", [1])
    let (_, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.head", [1, 2])
    }
    #expect(log == ["PUT /f/d/a.head"])
  }

  @Test func `another server gets what is replaced under another name first`() async throws {
    let bench = try Bench(MemoryDAV.Manners(server: "Another/1"))
    _ = try await bench.folder.write("d/a.head", [1])
    let (entry, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.head", [1, 2])
    }
    #expect(log.count == 2)
    #expect(log[0].hasPrefix("PUT /f/d/") && log[0].hasSuffix(".tmp"))
    #expect(log[1] == log[0].replacing("PUT", with: "MOVE"))
    #expect(entry.size == 2)
    #expect(bench.memory.names == ["f/d/a.head"])
    // It is read back: no listing has the version that the write gave.
    #expect(try await bench.folder.list("d").first?.version != entry.version)
  }

  @Test func `uploads that were cut off a week ago are swept`() async throws {
    let bench = try Bench()
    _ = try await bench.folder.write("d/a.head", [1])
    let scratch = FileName.temporary(5)
    bench.memory.put("f/d/" + scratch, [1])
    bench.memory.put("f/d/notes.tmp", [1])
    bench.memory.pass(seconds: 6 * 86_400)
    #expect(try await bench.folder.list("d").count == 3)
    bench.memory.pass(seconds: 86_401)
    let (entries, log) = try await bench.server.requests { try await bench.folder.list("d") }
    #expect(entries.map(\.name) == ["a.head", "notes.tmp"])
    #expect(log == ["PROPFIND /f/d/", "DELETE /f/d/" + scratch])
    #expect(bench.memory.names == ["f/d/a.head", "f/d/notes.tmp"])
  }

  @Test func `who only reads sweeps nothing`() async throws {
    let bench = try Bench()
    _ = try await bench.folder.write("d/a.head", [1])
    bench.memory.put("f/d/" + FileName.temporary(5), [1])
    bench.memory.pass(seconds: 8 * 86_400)
    let folder = bench.folder.forReading()
    let (entries, log) = try await bench.server.requests { try await folder.list("d") }
    #expect(entries.map(\.name) == ["a.head"] && log == ["PROPFIND /f/d/"])
    #expect(bench.memory.names.count == 2)
  }

  @Test(arguments: [403, 423, 503])
  func `what can't be swept is tried once, and not with each listing`(_ status: Int) async throws {
    let bench = try Bench()
    _ = try await bench.folder.write("d/a.head", [1])
    for number in 1...3 { bench.memory.put("f/d/" + FileName.temporary(UInt64(number)), [1]) }
    bench.memory.pass(seconds: 8 * 86_400)
    let memory = bench.memory
    bench.server.handle { asked in
      asked.method == "DELETE" ? .answer(status) : memory.answer(asked)
    }
    for number in 1...4 {
      let (entries, log) = try await bench.server.requests { try await bench.folder.list("d") }
      #expect(entries.map(\.name) == ["a.head"])
      #expect(log.map { $0.prefix(4) } == (number < 4 ? ["PROP", "DELE"] : ["PROP"]))
    }
  }

  @Test func `a name that says what is in it may show in part, and costs one request`()
    async throws
  {
    let bench = try Bench(MemoryDAV.Manners(server: "Another/1"))
    _ = try await bench.folder.write("d/a.head", [1])
    let name = "0123456789abcdef-1-2-0123456789abcdef0123456789abcdef.seg"
    let (_, log) = try await bench.server.requests {
      try await bench.folder.write("d/" + name, [1, 2])
    }
    #expect(log == ["PUT /f/d/" + name])
  }

  @Test func `a large file is looked at`() async throws {
    let bench = try Bench()
    _ = try await bench.folder.write("d/a.head", [1])
    let memory = bench.memory
    bench.server.handle { asked in
      var asked = asked
      if asked.method == "PUT" { asked.message.body.removeLast() }
      return memory.answer(asked)
    }
    let bytes = [UInt8](repeating: 1, count: (1 << 20) + 1)
    let (entry, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.seg", bytes)
    }
    #expect(log == ["PUT /f/d/a.seg", "PROPFIND /f/d/a.seg"])
    // What the server kept of it is told by its size.
    #expect(entry.size == 1 << 20)
  }

  /// A name that says what is in it, as a large file has it.
  private static let blob = "d/0000000000000001-" + String(repeating: "ab", count: 32) + ".blob"

  @Test func `half a file is removed only if its own source failed`() async throws {
    let failing = Shared(false)
    let memory = MemoryDAV(MemoryDAV.Manners(server: "Another/1"))
    let server = try TestServer { memory.answer($0) }
    var settings = ServerSettings.test
    settings.credentials = .closure { () async throws(CairnError) in
      if failing.value { throw CairnError(.auth, "the keychain is locked") }
      return .password(user: "ana", password: "pass-word")
    }
    let folder = try FolderKind.webDAV(settings).open("webdav+\(server.origin)/f")
    let large = BytesSource(bytes: BytesSource.large)
    _ = try await folder.write(WebDAVFolderTests.blob, from: large)
    // Credentials that are refused are asked for again, and can't be had.
    failing.value = true
    server.handle { $0.method == "DELETE" ? memory.answer($0) : .answer(401) }
    let (error, log) = try await server.requests {
      await #expect(throws: CairnError.self) {
        try await folder.write(WebDAVFolderTests.blob, from: large)
      }
    }
    #expect(error?.code == .auth)
    #expect(log.count == 1 && log[0].hasPrefix("PUT "))
    #expect(memory.bytes("f/" + WebDAVFolderTests.blob) == large.bytes)
    // If it was the source, half of it may be there.
    failing.value = false
    server.handle { memory.answer($0) }
    let (_, second) = try await server.requests {
      await #expect(throws: CairnError.self) {
        try await folder.write(
          WebDAVFolderTests.blob, from: FailingSource(size: 9 << 20, good: 2 << 20))
      }
    }
    #expect(second.contains { $0.hasPrefix("DELETE ") })
    #expect(memory.bytes("f/" + WebDAVFolderTests.blob) == nil)
  }

  @Test func `an upload that breaks leaves what was there`() async throws {
    let bench = try Bench(MemoryDAV.Manners(server: "Another/1"))
    _ = try await bench.folder.write("d/a.head", [1])
    let memory = bench.memory
    bench.server.handle { asked in
      asked.method == "MOVE" ? .answer(507) : memory.answer(asked)
    }
    await #expect(throws: CairnError.self) { try await bench.folder.write("d/a.head", [2]) }
    #expect(bench.memory.names == ["f/d/a.head"])
    #expect(bench.memory.bytes("f/d/a.head") == [1])
  }

  @Test func `what was never sent is not cleaned up after`() async throws {
    let isMetered = Shared(false)
    let bench = try await FolderFailureBench(.unknown) {
      $0.meteredBudget = TransferBudget(requestsPerHour: 1)
      $0.isMetered = { isMetered.value }
    }
    isMetered.value = true
    let (error, log) = await bench.server.requests { await bench.failure(.write) }
    #expect(error?.code == .quota)
    // Not one more than the budget has.
    #expect(log == [])
    isMetered.value = false
    bench.server.stop()
    #expect(await bench.failure(.write)?.code == .noConnection)
    // Of the five tries of one request.
    #expect(bench.pauses.all.count == 4)
  }

  @Test func `cleaning up is tried once`() async throws {
    let bench = try await FolderFailureBench(.unknown)
    bench.server.handle { _ in .answer(500) }
    let (error, log) = await bench.server.requests { await bench.failure(.write) }
    #expect(error?.code == .server)
    #expect(log.map { $0.prefix(4) } == ["PUT ", "PUT ", "PUT ", "PUT ", "PUT ", "DELE"])
    #expect(bench.pauses.all.count == 4)
  }

  @Test func `what can't be read to its end is cleaned up after, under whichever name`()
    async throws
  {
    let bench = try await FolderFailureBench(.unknown)
    let (error, log) = await bench.server.requests {
      await #expect(throws: CairnError.self) {
        try await bench.folder.write(
          "d/large.head", from: FailingSource(size: 9 << 20, good: 2 << 20))
      }
    }
    #expect(error?.code == .corrupt)
    #expect(log.last?.hasPrefix("DELETE /f/d/") == true, "\(log)")
    #expect(try await bench.folder.list("d").map(\.name) == ["there.head"])
  }

  @Test(arguments: ["lighttpd", "Another/1"])
  func `a write of which the answer is lost is looked at`(_ server: String) async throws {
    let bench = try Bench(MemoryDAV.Manners(server: server))
    _ = try await bench.folder.write("d/a.head", [1])
    let memory = bench.memory
    let lost = Shared(Set<String>())
    bench.server.handle { asked in
      let reply = memory.answer(asked)
      // The first answer to each kind of request is lost.
      if lost.value.insert(asked.method).inserted { return .hangUp }
      return reply
    }
    let entry = try await bench.folder.write("d/a.head", [1, 2, 3])
    #expect(entry.size == 3)
    #expect(bench.memory.bytes("f/d/a.head") == [1, 2, 3])
    #expect(bench.memory.names == ["f/d/a.head"])
  }

  @Test(arguments: [[UInt8]([2, 2]), [2, 2, 2]])
  func `what was there before is not taken for what was moved`(_ new: [UInt8]) async throws {
    let bench = try Bench(MemoryDAV.Manners(server: "Another/1"))
    _ = try await bench.folder.write("d/a.head", [1, 1])
    let memory = bench.memory
    let moves = Shared(0)
    bench.server.handle { asked in
      guard asked.method == "MOVE" else { return memory.answer(asked) }
      moves.value += 1
      // A server that is busy does nothing, and then has forgotten what was written.
      return .answer(moves.value == 1 ? 503 : 404)
    }
    let error = await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.head", new)
    }
    #expect(error?.code == .network)
    #expect(moves.value == 2)
    #expect(memory.bytes("f/d/a.head") == [1, 1])
    bench.server.handle { memory.answer($0) }
    #expect(try await bench.folder.write("d/a.head", new).size == UInt64(new.count))
    #expect(memory.bytes("f/d/a.head") == new)
  }

  @Test func `directories are made with those above them, once`() async throws {
    let bench = try Bench()
    _ = try await bench.folder.write("d/a.seg", [1])
    #expect(bench.server.log.filter { $0.hasPrefix("MKCOL") }.count <= 3)
    _ = try await bench.folder.write("d/b.seg", [1])
    #expect(bench.server.log.last == "PUT /f/d/b.seg")
  }

  @Test func `a directory that was removed meanwhile is made again`() async throws {
    let bench = try Bench()
    _ = try await bench.folder.write("d/a.seg", [1])
    // Another server, empty, in its place.
    let memory = MemoryDAV()
    bench.server.handle { memory.answer($0) }
    _ = try await bench.folder.write("d/b.seg", [1])
    #expect(memory.names == ["f/d/b.seg"])
  }

  @Test func `who may not make a directory is told so`() async throws {
    let bench = try Bench()
    let memory = bench.memory
    bench.server.handle { asked in
      asked.method == "MKCOL" && asked.path.hasPrefix("/f") ? .answer(403) : memory.answer(asked)
    }
    let error = await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.seg", [1])
    }
    #expect(error?.code == .auth)
    #expect(error?.message.contains("MKCOL") == true)
    #expect(error?.message.contains("folder above it is missing") == false)
  }

  // MARK: versions

  @Test(arguments: [MemoryDAV.Manners.Tags.secondAndSize, .none])
  func `a change in the same second is seen once the second is over`(
    _ tags: MemoryDAV.Manners.Tags
  ) async throws {
    let bench = try Bench(MemoryDAV.Manners(tags: tags, tagInAnswer: false))
    let reader = try FolderKind.webDAV(.test).open("webdav+\(bench.server.origin)/f")
    _ = try await bench.folder.write("d/a.head", [1])
    let first = try await reader.list("d")
    _ = try await bench.folder.write("d/a.head", [2])
    // Nothing tells them apart now.
    #expect(try await reader.list("d") == first)
    bench.memory.pass(seconds: 1)
    let second = try await reader.list("d")
    #expect(second != first)
    bench.memory.pass(seconds: 10)
    let settled = try await reader.list("d")
    #expect(settled != second)
    // From then on it stays as it is.
    bench.memory.pass(seconds: 100)
    #expect(try await reader.list("d") == settled)
  }

  @Test func `a tag is the same with and without its marks`() {
    #expect(EntityTag.text("W/\"a-b\"") == "a-b")
    #expect(EntityTag.text("\"a-b\"") == "a-b")
    #expect(EntityTag.text(" a-b ") == "a-b")
    #expect(EntityTag.text("\"\"") == nil)
    #expect(EntityTag.text("") == nil)
    #expect(EntityTag.text("\"") == "\"")
    #expect(EntityTag.isWeak("W/\"a\"") && !EntityTag.isWeak("\"W/\""))
  }

  // MARK: listings that lie

  @Test(
    arguments: [
      ("/f/d/a.seg", "f/d/a.seg"), ("http://host:80/f/d/a.seg", "f/d/a.seg"),
      ("/f/d/%61.seg", "f/d/a.seg"), ("/f//d/", "f/d"), ("/f/%c3%a4", "f/ä"),
      ("/f/d/a.seg?x=y#z", "f/d/a.seg"), ("/f/%2e%2e/x", nil), ("/f/a%2fb", nil),
      ("/f/a%00b", nil), ("/f/%zz", nil), ("/f/%ff", nil), ("", ""),
    ] as [(String, String?)])
  func `an href is a path, or nothing`(_ href: String, _ path: String?) {
    #expect(MultiStatus.path(href) == path)
  }

  private func list(_ body: String, status: Int = 207) async throws -> [FolderEntry] {
    let server = try TestServer { _ in .text(status, body, type: "application/xml") }
    return try await FolderKind.webDAV(.test).open("webdav+\(server.origin)/f").list("d")
  }

  private func response(_ href: String, _ props: String, _ status: String = "200 OK") -> String {
    "<response><href>\(href)</href><propstat><prop>\(props)</prop><status>HTTP/1.1 \(status)"
      + "</status></propstat></response>"
  }

  @Test func `only files of the directory itself are listed, each once`() async throws {
    let size = "<getcontentlength>5</getcontentlength>"
    let entries = try await list(
      "<multistatus xmlns=\"DAV:\">"
        + response("/f/d/", "<resourcetype><collection/></resourcetype>")
        + response("/f/d/a.seg", size) + response("/f/d/a.seg", size)
        + response("/f/d/sub/b.seg", size) + response("/f/e/c.seg", size)
        + response("/f/d/../../etc/passwd", size) + response("/f/d/sub/", "")
        + response("/f/d/gone.seg", size, "404 Not Found") + "</multistatus>")
    #expect(entries.map(\.name) == ["a.seg", "gone.seg"])
    #expect(entries.map(\.size) == [5, 0])
  }

  @Test(
    arguments: [
      ("HTTP/1.1 403 Forbidden", .auth), ("HTTP/1.1 503 Service Unavailable", .retryLater),
      ("HTTP/1.1 No", .response),
    ] as [(String, CairnError.Code)])
  func `a directory that is refused within the listing is no empty one`(
    _ status: String, _ code: CairnError.Code
  ) async throws {
    func refused(_ status: String) -> String {
      "<multistatus xmlns=\"DAV:\"><response><href>/f/d/</href><status>\(status)</status>"
        + "</response></multistatus>"
    }
    let error = await #expect(throws: CairnError.self) { try await list(refused(status)) }
    #expect(error?.code == code)
    #expect(error?.message.contains(status) == true)
    // One that is not there has nothing in it.
    #expect(try await list(refused("HTTP/1.1 404 Not Found")) == [])
  }

  @Test func `a name of another namespace says nothing`() async throws {
    let entries = try await list(
      "<D:multistatus xmlns:D=\"DAV:\" xmlns:x=\"urn:x\"><D:response><D:href>/f/d/a</D:href>"
        + "<x:href>/f/d/b</x:href><D:propstat><D:prop><D:getcontentlength>7</D:getcontentlength>"
        + "<x:getcontentlength>9</x:getcontentlength></D:prop></D:propstat></D:response>"
        + "</D:multistatus>")
    #expect(entries.map(\.name) == ["a"])
    #expect(entries.map(\.size) == [7])
  }

  @Test(
    arguments: [
      "<multistatus xmlns=\"DAV:\"><response><href>/f/d/a", "<html><body>hello</body></html>",
      "<multistatus xmlns=\"DAV:\">", "", "not XML", "<multistatus/>",
      "<!DOCTYPE x><multistatus xmlns=\"DAV:\"/>", "<multistatus xmlns=\"DAV:\"/>",
    ])
  func `half a listing, or none, is an error and not an empty folder`(_ body: String) async {
    await #expect(throws: CairnError.self) { try await list(body) }
  }

  @Test func `a server that knows no WebDAV is told`() async throws {
    let server = try TestServer { _ in .answer(405) }
    let folder = try FolderKind.webDAV(.test).open("webdav+\(server.origin)/f")
    let error = await #expect(throws: CairnError.self) { try await folder.list("d") }
    #expect(error?.code == .server)
    #expect(error?.message.contains("PROPFIND") == true)
  }

  @Test func `plain http is for this machine only`() {
    for bad in ["webdav+http://example.com/f", "webdav+https://h/f?x=y", "ftp://127.0.0.1/"] {
      #expect(throws: CairnError.self) { try FolderKind.webDAV().open(bad) }
    }
    #expect(throws: Never.self) { try FolderKind.webDAV().open("webdav+https://example.com/f") }
  }

  @Test func `a path of a directory is never removed`() async throws {
    let bench = try Bench()
    _ = try await bench.folder.write("d/a.seg", [1])
    await #expect(throws: CairnError.self) { try await bench.folder.remove("") }
    await #expect(throws: CairnError.self) { try await bench.folder.remove("d/") }
    #expect(bench.memory.names == ["f/d/a.seg"])
  }
}
