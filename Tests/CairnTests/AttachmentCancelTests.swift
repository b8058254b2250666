import TestSupport
import Testing

@testable import Cairn

/// Loops over long contents that nobody wants any more.
@Suite struct AttachmentCancelTests {
  private struct End: Sendable {
    var pieces = 0
    var code: CairnError.Code?
  }

  private static func read(_ chunks: AttachmentChunks) async -> End {
    var end = End()
    var iterator = chunks.makeAsyncIterator()
    do throws(CairnError) {
      while try await iterator.next() != nil { end.pieces += 1 }
    } catch { end.code = error.code }
    return end
  }

  @Test func `a loop that is cancelled while its content is checked ends there`() async throws {
    let bench = CatalogueBench()
    let first = try bench.manager("a").openOrCreateDatastore("n")
    // Eight pieces.
    try first.addPhoto("r", sample(1, 2_000_000))
    try first.close()
    // A process that has not looked at its bytes yet.
    let (reads, reading) = (Shared(0), Shared<Task<End, Never>?>(nil))
    let disk = ContentDisk(base: bench.disk) {
      let number = reads.withLock { count in
        count += 1
        return count
      }
      if number == 3 { reading.withLock { $0 }?.cancel() }
    }
    let again = try bench.manager("a", on: disk).openOrCreateDatastore("n")
    let chunks = try again.photo("r").chunks
    let (gate, opener) = AsyncStream<Void>.makeStream()
    let task = Task { () async -> End in
      for await _ in gate {}
      return await Self.read(chunks)
    }
    _ = reading.exchange(task)
    _ = reads.exchange(0)
    opener.finish()
    let end = await task.value
    #expect(end.code == .cancelled && end.pieces == 0)
    #expect(reads.exchange(100) == 3, "nothing after the one in which it was cancelled")
    // Nobody takes it for checked.
    let whole = await Self.read(chunks)
    #expect(whole.code == nil && whole.pieces == 8)
    #expect(reads.exchange(100) >= 116)
    try again.close()
  }
}
