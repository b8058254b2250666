import TestSupport
import Testing

@testable import Cairn
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
}
