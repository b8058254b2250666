import CairnLog
import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import CairnS3
@testable import CairnWebDAV
@testable import TestServers

/// What S3 servers do differently.
@Suite struct S3FolderTests {
  struct Bench: Sendable {
    let memory: MemoryS3
    let server: TestServer
    let folder: S3Folder

    init(_ manners: MemoryS3.Manners = MemoryS3.Manners()) throws {
      let memory = MemoryS3(manners)
      self.memory = memory
      server = try TestServer { memory.answer($0) }
      let address = "s3://cairn/f?endpoint=\(server.origin)"
      var folder = try #require(try FolderKind.s3(.test).open(address) as? S3Folder)
      folder.partBytes = 1000
      self.folder = folder
    }
  }

  @Test func `a write is one request, and its answer says what arrived`() async throws {
    let bench = try Bench()
    let (entry, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.seg", [1, 2])
    }
    #expect(log == ["PUT /cairn/f/d/a.seg"])
    #expect(try await bench.folder.list("d") == [entry])
  }

  @Test func `where the tag says nothing an object is looked at if it was sent twice`() async throws
  {
    let bench = try Bench(MemoryS3.Manners(tagsAreHashes: false))
    let (entry, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.seg", [1, 2])
    }
    #expect(log == ["PUT /cairn/f/d/a.seg"])
    #expect(try await bench.folder.list("d") == [entry])
    let memory = bench.memory
    let isLost = Shared(false)
    bench.server.handle { asked in
      let reply = memory.answer(asked)
      if isLost.value { return reply }
      isLost.value = true
      return .hangUp
    }
    let (again, second) = try await bench.server.requests {
      try await bench.folder.write("d/a.seg", [1, 2])
    }
    #expect(second.map { $0.prefix(4) } == ["PUT ", "PUT ", "HEAD"])
    #expect(again == entry)
  }

  @Test func `a listing takes a request for each page`() async throws {
    let bench = try Bench(MemoryS3.Manners(pageSize: 10))
    for number in 0..<31 { bench.memory.put("f/d/\(number).seg", [1]) }
    let (entries, log) = try await bench.server.requests { try await bench.folder.list("d") }
    #expect(entries.count == 31)
    #expect(log.count == 4)
  }

  @Test func `a listing without an end has one`() async throws {
    let server = try TestServer { asked in
      .text(
        200,
        "<ListBucketResult><IsTruncated>true</IsTruncated>"
          + "<NextContinuationToken>same</NextContinuationToken></ListBucketResult>",
        type: "application/xml")
    }
    let folder = try FolderKind.s3(.test).open("s3://cairn/f?endpoint=\(server.origin)")
    let error = await #expect(throws: CairnError.self) { try await folder.list("d") }
    #expect(error?.code == .response)
    #expect(server.count == 2)
  }

  /// By the number of objects, and by the bytes that are kept of them.
  @Test(arguments: [(95, 1 << 20), (1000, 600)])
  func `a listing whose pages never end has an end, too`(
    _ count: Int, _ bytes: Int
  ) async throws {
    let server = try TestServer { asked in
      // Fresh tokens and fresh names, for ever.
      let objects = (0..<10).map { number in
        "<Contents><Key>f/d/\(asked.number)-\(number)</Key><Size>1</Size></Contents>"
      }
      return .text(
        200,
        "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>\(asked.number)"
          + "</NextContinuationToken>\(objects.joined())</ListBucketResult>",
        type: "application/xml")
    }
    let address = "s3://cairn/f?endpoint=\(server.origin)"
    var folder = try #require(try FolderKind.s3(.test).open(address) as? S3Folder)
    (folder.listedMax, folder.keptBytesMax) = (count, bytes)
    let error = await #expect(throws: CairnError.self) { try await folder.list("d") }
    #expect(error?.code == .response)
    #expect(error?.message.contains("has no end") == true)
    #expect(count == 95 ? server.count == 10 : (5..<15).contains(server.count))
  }

  @Test func `a page without an end is not read to it`() async throws {
    let page = "<ListBucketResult>" + String(repeating: " ", count: 100_000)
    let server = try TestServer { _ in .text(200, page, type: "application/xml") }
    let address = "s3://cairn/f?endpoint=\(server.origin)"
    var folder = try #require(try FolderKind.s3(.test).open(address) as? S3Folder)
    folder.pageBytesMax = 50_000
    let error = await #expect(throws: CairnError.self) { try await folder.list("d") }
    #expect(error?.message.contains("more than 50000 bytes") == true)
    #expect(server.count == 1)
  }

  @Test func `names that nobody of ours writes are passed over`() async throws {
    let long = String(repeating: "a", count: 4000)
    let server = try TestServer { _ in
      .text(
        200,
        "<ListBucketResult><Contents><Key>f/d/\(long)</Key></Contents>"
          + "<Contents><Key>f/d/a.seg</Key></Contents></ListBucketResult>", type: "application/xml")
    }
    let folder = try FolderKind.s3(.test).open("s3://cairn/f?endpoint=\(server.origin)")
    #expect(try await folder.list("d").map(\.name) == ["a.seg"])
    server.handle { _ in
      .text(
        207,
        "<multistatus xmlns=\"DAV:\"><response><href>/f/d/\(long)</href></response>"
          + "<response><href>/f/d/a.seg</href></response></multistatus>", type: "application/xml")
    }
    let dav = try FolderKind.webDAV(.test).open("webdav+\(server.origin)/f")
    #expect(try await dav.list("d").map(\.name) == ["a.seg"])
  }

  @Test(
    arguments: [
      "<ListBucketResult><Contents><Key>f/d/a", "<Error><Code>x</Code></Error>", "", "<a/>",
      "<ListBucketResult>",
    ])
  func `half a listing, or none, is an error and not an empty folder`(_ body: String) async throws {
    let server = try TestServer { _ in .text(200, body, type: "application/xml") }
    let folder = try FolderKind.s3(.test).open("s3://cairn/f?endpoint=\(server.origin)")
    await #expect(throws: CairnError.self) { try await folder.list("d") }
  }

  @Test func `a bucket that is not there is no empty folder`() async throws {
    let bench = try Bench()
    let folder = try FolderKind.s3(.test).open("s3://other/f?endpoint=\(bench.server.origin)")
    for act in 0..<3 {
      let error = await #expect(throws: CairnError.self) {
        switch act {
        case 0: _ = try await folder.read("a", limit: 1)
        case 1: _ = try await folder.read("a", from: 0) { _ in }
        default: _ = try await folder.list("")
        }
      }
      #expect(error?.code == .notFound)
      #expect(error?.message.contains("NoSuchBucket") == true)
    }
  }

  // MARK: parts

  @Test func `a large file goes up in parts`() async throws {
    let bench = try Bench()
    let bytes = SeededRandom(1).bytes(3500)
    let (entry, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(entry.size == 3500)
    #expect(bench.memory.bytes("f/d/a.snap") == bytes)
    let methods = log.map { $0.prefix(4) }
    #expect(methods == ["POST", "PUT ", "PUT ", "PUT ", "PUT ", "POST", "GET ", "HEAD"])
  }

  @Test func `parts that arrived are not sent again`() async throws {
    let bench = try Bench()
    let bytes = SeededRandom(2).bytes(5000)
    let memory = bench.memory
    bench.server.handle { asked in
      asked.query["partNumber"] == "4" ? .hangUp : memory.answer(asked)
    }
    await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    bench.server.handle { memory.answer($0) }
    let (_, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(log.map { $0.prefix(4) } == ["GET ", "PUT ", "PUT ", "POST", "GET ", "HEAD"])
    #expect(memory.bytes("f/d/a.snap") == bytes)
  }

  @Test func `of an upload whose source fails no part is left`() async throws {
    let bench = try Bench()
    let error = await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.snap", from: FailingSource(size: 5000, good: 3000))
    }
    #expect(error?.code == .corrupt)
    #expect(bench.memory.uploads == [] && bench.memory.names == [])
    // Nor is it gone on with.
    let bytes = SeededRandom(2).bytes(5000)
    let (_, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(log.count { $0.hasPrefix("PUT ") } == 5)
    #expect(bench.memory.bytes("f/d/a.snap") == bytes)
  }

  @Test func `an upload that can't be asked for is still known`() async throws {
    let bench = try Bench()
    let bytes = SeededRandom(2).bytes(5000)
    let memory = bench.memory
    bench.server.handle { asked in
      asked.query["partNumber"] == "4" ? .hangUp : memory.answer(asked)
    }
    for _ in 0..<2 {
      await #expect(throws: CairnError.self) {
        try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
      }
      // The second time nobody answers at all.
      bench.server.handle { _ in .hangUp }
    }
    bench.server.handle { memory.answer($0) }
    let (_, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(log.count { $0.hasPrefix("PUT ") } == 2)
    #expect(memory.bytes("f/d/a.snap") == bytes)
  }

  @Test func `another object is told by its first part, and the rest of it is not read`()
    async throws
  {
    let bench = try Bench(MemoryS3.Manners(tagsAreHashes: false))
    var folder = bench.folder
    folder.partBytes = 1 << 20
    let memory = bench.memory
    let bytes = BytesSource.large
    memory.put("f/d/a.snap", [UInt8](repeating: 1, count: bytes.count))
    let ends = Shared(0)
    bench.server.handle { asked in
      guard asked.method == "POST", asked.query["uploadId"] != nil else {
        return memory.answer(asked)
      }
      ends.value += 1
      return ends.value == 1 ? .answer(503) : .answer(404)
    }
    let before = try #require(folder.traffic).receivedBytes
    let error = await #expect(throws: CairnError.self) {
      try await folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(error?.code == .network)
    let received = try #require(folder.traffic).receivedBytes - before
    #expect(received >= 1 << 20 && received < 5 << 20)
  }

  @Test func `an upload that the server has forgotten begins anew`() async throws {
    let bench = try Bench()
    let bytes = SeededRandom(3).bytes(2500)
    let memory = bench.memory
    bench.server.handle { asked in
      asked.query["partNumber"] == "3" ? .hangUp : memory.answer(asked)
    }
    await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    memory.forgetUploads()
    bench.server.handle { memory.answer($0) }
    _ = try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    #expect(memory.bytes("f/d/a.snap") == bytes)
  }

  @Test func `an upload of which the server has lost a part begins anew`() async throws {
    let bench = try Bench()
    let bytes = SeededRandom(3).bytes(2500)
    let memory = bench.memory
    bench.server.handle { asked in
      asked.query["partNumber"] == "2" ? .answer(200, [("ETag", "\"2\"")]) : memory.answer(asked)
    }
    let error = await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(error?.message.contains("InvalidPart") == true)
    // What would be refused again and again is given up.
    #expect(memory.uploads == [])
    bench.server.handle { memory.answer($0) }
    let (_, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(log.count { $0.hasPrefix("PUT ") } == 3)
    #expect(memory.bytes("f/d/a.snap") == bytes)
  }

  @Test func `parts are kept when who ends the upload is refused for the moment`() async throws {
    let bench = try Bench()
    let bytes = SeededRandom(3).bytes(2500)
    let memory = bench.memory
    bench.server.handle { asked in
      let isEnd = asked.method == "POST" && asked.query["uploadId"] != nil
      return isEnd ? .answer(403) : memory.answer(asked)
    }
    await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(memory.uploads.count == 1)
    bench.server.handle { memory.answer($0) }
    let (_, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(log.count { $0.hasPrefix("PUT ") } == 0)
    #expect(memory.bytes("f/d/a.snap") == bytes)
  }

  @Test func `parts of another content are sent again`() async throws {
    let bench = try Bench()
    let (first, second) = (SeededRandom(4).bytes(2500), SeededRandom(5).bytes(2500))
    let memory = bench.memory
    bench.server.handle { asked in
      asked.query["partNumber"] == "3" ? .hangUp : memory.answer(asked)
    }
    await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: first))
    }
    bench.server.handle { memory.answer($0) }
    _ = try await bench.folder.write("d/a.snap", from: BytesSource(bytes: second))
    #expect(memory.bytes("f/d/a.snap") == second)
  }

  @Test func `a success that is an error is one`() async throws {
    let bench = try Bench(MemoryS3.Manners(lateErrors: 1))
    let bytes = SeededRandom(6).bytes(2500)
    await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(bench.memory.bytes("f/d/a.snap") == nil)
    _ = try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    #expect(bench.memory.bytes("f/d/a.snap") == bytes)
  }

  @Test func `an end of which the answer is lost is looked at`() async throws {
    let bench = try Bench()
    let memory = bench.memory
    let isLost = Shared(false)
    bench.server.handle { asked in
      let reply = memory.answer(asked)
      guard asked.method == "POST", asked.query["uploadId"] != nil, !isLost.value else {
        return reply
      }
      isLost.value = true
      return .hangUp
    }
    let bytes = SeededRandom(7).bytes(2500)
    #expect(try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes)).size == 2500)
    #expect(memory.bytes("f/d/a.snap") == bytes)
  }

  @Test func `what was there before is not taken for what was sent`() async throws {
    let bench = try Bench()
    let memory = bench.memory
    let (old, new) = (SeededRandom(1).bytes(2500), SeededRandom(2).bytes(2500))
    memory.put("f/d/a.snap", old)
    let ends = Shared(0)
    bench.server.handle { asked in
      guard asked.method == "POST", asked.query["uploadId"] != nil else {
        return memory.answer(asked)
      }
      ends.value += 1
      if ends.value == 1 { return .answer(503) }
      memory.forgetUploads()
      return memory.answer(asked)
    }
    let error = await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: new))
    }
    #expect(error?.code == .network)
    #expect(memory.bytes("f/d/a.snap") == old)
    bench.server.handle { memory.answer($0) }
    _ = try await bench.folder.write("d/a.snap", from: BytesSource(bytes: new))
    #expect(memory.bytes("f/d/a.snap") == new)
  }

  @Test func `uploads that nobody ended for a week are swept when there is another`() async throws {
    let bench = try Bench()
    let own = FileName.sharedSnapshot(7 as UInt128)
    for (id, key, time) in [
      ("old", "f/d/" + own, "2027-01-01T08:00:00.000Z"),
      ("new", "f/d/" + own, "2027-01-10T08:00:00.000Z"),
      ("foreign", "f/d/holiday.mov", "2027-01-01T08:00:00.000Z"),
      ("elsewhere", "g/" + own, "2027-01-01T08:00:00.000Z"),
      ("undated", "f/d/" + own, "some day"),
    ] { bench.memory.begin(id, key, time) }
    let bytes = SeededRandom(9).bytes(2500)
    _ = try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    #expect(bench.memory.uploads == ["elsewhere", "foreign", "new", "undated"])
    #expect(bench.memory.bytes("f/d/a.snap") == bytes)
  }

  @Test func `the first upload that can't be swept ends the sweep`() async throws {
    let bench = try Bench()
    let memory = bench.memory
    for number in 0..<3 {
      memory.begin(
        "old-\(number)", "f/d/" + FileName.sharedSnapshot(7 as UInt128), "2027-01-01T08:00:00.000Z")
    }
    bench.server.handle { $0.method == "DELETE" ? .hangUp : memory.answer($0) }
    let bytes = SeededRandom(9).bytes(2500)
    let (_, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(log.count { $0.hasPrefix("DELETE ") } == 1)
    #expect(memory.bytes("f/d/a.snap") == bytes)
  }

  // MARK: refusals

  @Test(
    arguments: [ConditionalWrites.honoured, .unsupported, .ignored])
  func `what a server makes of conditions is found out`(_ answer: ConditionalWrites) async throws {
    let bench = try Bench(MemoryS3.Manners(conditions: answer))
    #expect(try await bench.folder.probeConditionalWrites() == answer)
    #expect(bench.memory.names.isEmpty)
  }

  @Test func `a wrong clock signs by the server's`() async throws {
    let dates = Shared<[String]>([])
    let server = try TestServer { asked in
      dates.value.append(asked["x-amz-date"] ?? "")
      guard asked.number > 0 else {
        return .answer(
          403, [("Date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("Content-Type", "application/xml")],
          Array("<Error><Code>RequestTimeTooSkewed</Code></Error>".utf8))
      }
      return .answer(200, [], [1])
    }
    var settings = ServerSettings.test
    settings.credentials = .given(.accessKey(id: "id", secret: "secret"))
    let folder = try FolderKind.s3(settings).open("s3://cairn/f?endpoint=\(server.origin)")
    #expect(try await folder.read("a", limit: 10) == [1])
    #expect(dates.value.last?.hasPrefix("19941106T") == true)
  }

  @Test(
    arguments: [
      (400, "ExpiredToken"), (403, "InvalidAccessKeyId"), (403, "SignatureDoesNotMatch"), (403, ""),
    ])
  func `a key that is refused is asked for again, and the request succeeds`(
    _ status: Int, _ code: String
  ) async throws {
    let server = try TestServer { asked in
      if asked["x-amz-security-token"] == "second" { return .answer(200, [], [1]) }
      if code.isEmpty { return .answer(status) }
      return .text(status, "<Error><Code>\(code)</Code></Error>", type: "application/xml")
    }
    let tokens = Shared(["first", "second", "third"])
    var settings = ServerSettings.test
    settings.credentials = .closure { () async throws(CairnError) in
      .accessKey(id: "id", secret: "secret", sessionToken: tokens.value.removeFirst())
    }
    let folder = try FolderKind.s3(settings).open("s3://cairn/f?endpoint=\(server.origin)")
    #expect(try await folder.read("a", limit: 10) == [1])
    #expect(server.count == 2)
    // Once for each request, however often it is refused.
    server.handle { _ in
      .text(400, "<Error><Code>ExpiredToken</Code></Error>", type: "application/xml")
    }
    let error = await #expect(throws: CairnError.self) { try await folder.list("d") }
    #expect(error?.message.contains("ExpiredToken") == true)
    #expect(server.count == 4)
    #expect(tokens.value == [])
  }

  @Test func `a refusal says why`() async throws {
    let server = try TestServer { _ in
      .text(
        403, "<Error><Code>SignatureDoesNotMatch</Code><Key>secret</Key></Error>",
        type: "application/xml")
    }
    let folder = try FolderKind.s3(.test).open("s3://cairn/f?endpoint=\(server.origin)")
    let error = await #expect(throws: CairnError.self) { try await folder.list("d") }
    #expect(error?.code == .auth)
    #expect(error?.message.contains("SignatureDoesNotMatch") == true)
  }
}
