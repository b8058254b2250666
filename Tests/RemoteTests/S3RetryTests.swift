import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import CairnS3
@testable import TestServers

/// What of S3 is tried again, and what is not.
@Suite struct S3RetryTests {
  typealias Bench = S3FolderTests.Bench

  @Test(arguments: [(400, "RequestTimeout"), (409, "OperationAborted")])
  func `what passes in a bucket is tried again`(_ status: Int, _ code: String) async throws {
    let bench = try Bench()
    let memory = bench.memory
    let failures = Shared(1)
    bench.server.handle { asked in
      guard asked.method == "PUT", failures.value > 0 else { return memory.answer(asked) }
      failures.value -= 1
      return .text(status, "<Error><Code>\(code)</Code></Error>", type: "application/xml")
    }
    let (_, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.seg", [1, 2])
    }
    #expect(log.count == 2)
    failures.value = 100
    let error = await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/b.seg", [1, 2])
    }
    #expect(error?.code == .retryLater && error?.message.contains(code) == true)
    #expect(failures.value == 95)
    // Nor are the parts that have arrived thrown away.
    let bytes = SeededRandom(3).bytes(2500)
    await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(memory.uploads.count == 1)
  }

  @Test func `uploads that can't be listed are asked for once, and harm nothing`() async throws {
    let bench = try Bench()
    let memory = bench.memory
    bench.server.handle { asked in
      asked.method == "GET" && asked.query["uploads"] != nil ? .answer(503) : memory.answer(asked)
    }
    let bytes = SeededRandom(9).bytes(2500)
    let (_, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(log.count { $0 == "GET /cairn" } == 1, "\(log)")
    #expect(memory.bytes("f/d/a.snap") == bytes)
  }

  // MARK: parts

  /// An upload of five parts of which three arrive.
  private func begin(_ bench: Bench, _ bytes: [UInt8]) async {
    let memory = bench.memory
    bench.server.handle { asked in
      asked.query["partNumber"] == "4" ? .hangUp : memory.answer(asked)
    }
    await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
  }

  /// What a bucket answers to whoever may write, and not look at the parts of an upload.
  private func hiding(_ memory: MemoryS3, _ status: Int) -> TestServer.Handler {
    { asked in
      asked.method == "GET" && asked.query["uploadId"] != nil
        ? .answer(status) : memory.answer(asked)
    }
  }

  @Test(arguments: [403, 405, 501])
  func `an upload whose parts nobody may look at is gone on with`(_ status: Int) async throws {
    let bench = try Bench()
    let bytes = SeededRandom(2).bytes(5000)
    await begin(bench, bytes)
    bench.server.handle(hiding(bench.memory, status))
    let (_, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(log.map { $0.prefix(4) } == ["GET ", "PUT ", "PUT ", "POST", "GET ", "HEAD"])
    #expect(bench.memory.bytes("f/d/a.snap") == bytes)
  }

  @Test func `if it is gone meanwhile the write after that begins anew`() async throws {
    let bench = try Bench()
    let bytes = SeededRandom(2).bytes(5000)
    await begin(bench, bytes)
    bench.memory.forgetUploads()
    bench.server.handle(hiding(bench.memory, 403))
    let error = await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(error?.message.contains("NoSuchUpload") == true)
    let (_, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(log.count { $0.hasPrefix("PUT ") } == 5)
    #expect(bench.memory.bytes("f/d/a.snap") == bytes)
  }

  @Test func `an upload of which only the end is missing, and that is gone, begins anew`()
    async throws
  {
    let bench = try Bench()
    let memory = bench.memory
    let bytes = SeededRandom(2).bytes(5000)
    let refusing = hiding(memory, 403)
    bench.server.handle { asked in
      let isEnd = asked.method == "POST" && asked.query["uploadId"] != nil
      return isEnd ? .answer(403) : refusing(asked)
    }
    for isGone in [false, true] {
      let error = await #expect(throws: CairnError.self) {
        try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
      }
      #expect(error?.code == (isGone ? .network : .auth))
      memory.forgetUploads()
      bench.server.handle(refusing)
    }
    _ = try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    #expect(memory.bytes("f/d/a.snap") == bytes)
  }

  /// What a server sends while it puts parts together.
  static let spaces = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n     "

  @Test(arguments: [true, false], ["", S3RetryTests.spaces])
  func `a success that says nothing is one if the object is there`(
    _ isDone: Bool, _ text: String
  ) async throws {
    let bench = try Bench()
    let memory = bench.memory
    let bytes = SeededRandom(2).bytes(5000)
    bench.server.handle { asked in
      guard asked.method == "POST", asked.query["uploadId"] != nil else {
        return memory.answer(asked)
      }
      if isDone { _ = memory.answer(asked) }
      return .text(200, text, type: "application/xml")
    }
    if isDone {
      let entry = try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
      #expect(entry.size == 5000)
    } else {
      let error = await #expect(throws: CairnError.self) {
        try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
      }
      #expect(error?.code == .network)
      // Its parts are still good.
      bench.server.handle { memory.answer($0) }
      let (_, log) = try await bench.server.requests {
        try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
      }
      #expect(log.count { $0.hasPrefix("PUT ") } == 0)
    }
    #expect(memory.bytes("f/d/a.snap") == bytes)
  }

  @Test(arguments: ["InvalidPart", "InvalidPartOrder", "EntityTooSmall"])
  func `parts that are refused by a success are not ended with again`(
    _ code: String
  ) async throws {
    let bench = try Bench(MemoryS3.Manners(lateErrors: 1, lateCode: code))
    let bytes = SeededRandom(3).bytes(2500)
    let error = await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(error?.code == .request && error?.message.contains(code) == true)
    #expect(bench.memory.uploads == [])
    let (_, log) = try await bench.server.requests {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    let methods = log.map { $0.prefix(4) }
    #expect(methods == ["POST", "PUT ", "PUT ", "PUT ", "POST", "GET ", "HEAD"])
    #expect(bench.memory.bytes("f/d/a.snap") == bytes)
  }

  @Test(arguments: [true, false])
  func `an upload that is gone may be said to be so by a success`(
    isComplete: Bool
  ) async throws {
    let bench = try Bench()
    let memory = bench.memory
    let bytes = SeededRandom(7).bytes(2500)
    let ends = Shared(0)
    bench.server.handle { asked in
      guard asked.method == "POST", asked.query["uploadId"] != nil else {
        return memory.answer(asked)
      }
      if !isComplete { memory.forgetUploads() }
      let reply = memory.answer(asked)
      ends.value += 1
      // The answer to the first is lost.
      if isComplete, ends.value == 1 { return .hangUp }
      guard case .answer(404, let headers, let body) = reply else { return reply }
      return .answer(200, headers, body)
    }
    if isComplete {
      let (entry, log) = try await bench.server.requests {
        try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
      }
      #expect(entry.size == 2500)
      #expect(log.count { $0.hasPrefix("PUT ") } == 3)
      #expect(ends.value == 2)
    } else {
      let error = await #expect(throws: CairnError.self) {
        try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
      }
      #expect(error?.code == .network && ends.value == 1)
      // And all of it is sent again.
      bench.server.handle { memory.answer($0) }
      let (_, log) = try await bench.server.requests {
        try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
      }
      #expect(log.count { $0.hasPrefix("PUT ") } == 3)
    }
    #expect(memory.bytes("f/d/a.snap") == bytes)
  }

  // MARK: room

  /// A bucket in which there is room for so many bytes, parts of uploads among them.
  private func limited(
    _ memory: MemoryS3, to bytes: Int, _ status: Int, _ code: String
  ) -> TestServer.Handler {
    { asked in
      guard asked.method == "PUT", memory.storedBytes + asked.body.count > bytes else {
        return memory.answer(asked)
      }
      return .text(status, "<Error><Code>\(code)</Code></Error>", type: "application/xml")
    }
  }

  @Test(
    arguments: [
      (403, "QuotaExceeded"), (400, "XMinioAdminBucketQuotaExceeded"), (507, "XMinioStorageFull"),
      (507, ""),
    ])
  func `what a full bucket has of a large file does not keep a small one out`(
    _ status: Int, _ code: String
  ) async throws {
    let bench = try Bench()
    let memory = bench.memory
    let own = FileName.sharedSnapshot(7 as UInt128)
    memory.begin("of another device", "f/d/" + own, "2027-01-14T08:00:00.000Z")
    memory.begin("left over", "f/d/" + own, "2027-01-01T08:00:00.000Z")
    bench.server.handle(limited(memory, to: 1500, status, code))
    let bytes = SeededRandom(6).bytes(2500)
    for _ in 1...2 {
      let (error, log) = await bench.server.requests { () async -> CairnError? in
        await #expect(throws: CairnError.self) {
          try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
        }
      }
      #expect(error?.code == .quota)
      #expect(log.count { $0 == "PUT /cairn/f/d/a.snap" } == 2)
      #expect(log.count { $0 == "DELETE /cairn/f/d/a.snap" } == 1)
      #expect(memory.uploads == ["of another device"])
    }
    let small = SeededRandom(7).bytes(900)
    _ = try await bench.folder.write("d/a.seg", small)
    #expect(memory.bytes("f/d/a.seg") == small)
  }

  @Test func `nor do parts that a bucket finds no room to put together`() async throws {
    let bench = try Bench(MemoryS3.Manners(lateErrors: 1, lateCode: "QuotaExceeded"))
    let bytes = SeededRandom(6).bytes(2500)
    let error = await #expect(throws: CairnError.self) {
      try await bench.folder.write("d/a.snap", from: BytesSource(bytes: bytes))
    }
    #expect(error?.code == .quota && bench.memory.uploads == [])
  }

  // MARK: clocks

  @Test func `a clock that was wrong and is set right signs by itself again`() async throws {
    let now: Int64 = 1_800_000_000_000
    let (hour, day) = (Int64(3_600_000), "20270115T")
    #expect(HTTPDate.compact(now).hasPrefix(day + "08"))
    let server = try TestServer { asked in
      if asked["x-amz-date"]?.hasPrefix(day + "08") == true { return .answer(200, [], [1]) }
      return .answer(
        403, [("Date", "Fri, 15 Jan 2027 08:00:00 GMT"), ("Content-Type", "application/xml")],
        Array("<Error><Code>RequestTimeTooSkewed</Code></Error>".utf8))
    }
    let clock = ManualClock(now + hour)
    var settings = ServerSettings.test
    settings.credentials = .given(.accessKey(id: "id", secret: "secret"))
    let machine = Machine(disk: PosixDisk(), clock: clock, random: SeededRandom(5))
    let folder = try FolderKind.s3(settings, machine: machine).open(
      "s3://cairn/f?endpoint=\(server.origin)")
    func requests() async throws -> Int {
      let (bytes, log) = try await server.requests { try await folder.read("a", limit: 10) }
      #expect(bytes == [1])
      return log.count
    }
    #expect(try await [requests(), requests()] == [2, 1])
    clock.advance(by: -hour)
    #expect(try await [requests(), requests()] == [2, 1])
    // And wrong again, the other way.
    clock.advance(by: -hour)
    #expect(try await [requests(), requests()] == [2, 1])
  }
}
