import Dispatch
import TestSupport
import Testing

@testable import Cairn

/// Contents that a screen reads: its actor has other things to do than to check them.
@Suite struct AttachmentActorTests {
  /// Like the main one, but certain to run in a queue that can be told by its mark: on which thread
  /// the main actor's jobs run, and whose jobs that thread runs next, is the test runner's affair.
  private actor Screen {
    private final class Queue: SerialExecutor {
      let queue = DispatchQueue(label: "screen")

      func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
      }
    }

    private static let mark = DispatchSpecificKey<Bool>()
    static var isRunningHere: Bool { DispatchQueue.getSpecific(key: mark) == true }

    private let queue = Queue()
    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe queue.asUnownedSerialExecutor()
    }

    init() { queue.queue.setSpecific(key: Screen.mark, value: true) }

    /// The content, and whether the loop ran where it should.
    func read(_ chunks: AttachmentChunks) async throws -> (bytes: [UInt8], isHere: Bool) {
      var (bytes, isHere): ([UInt8], Bool) = ([], Screen.isRunningHere)
      for try await piece in chunks {
        bytes += piece
        isHere = isHere && Screen.isRunningHere
      }
      return (bytes, isHere)
    }
  }

  @Test func `a loop on an actor reads and checks nothing there`() async throws {
    let bench = CatalogueBench()
    let content = sample(1, 700_000)
    let first = try bench.manager("a").openOrCreateDatastore("n")
    try first.addPhoto("r", content)
    try first.close()
    // A process that has not looked at its bytes yet.
    let reads = Told<Bool>()
    let disk = ContentDisk(base: bench.disk) { reads.add(Screen.isRunningHere) }
    let again = try bench.manager("a", on: disk).openOrCreateDatastore("n")
    let chunks = try again.photo("r").chunks
    let (bytes, isHere) = try await Screen().read(chunks)
    let isSame = bytes == content
    #expect(isSame && isHere)
    // All of it is looked at before the first piece, and each piece once more.
    #expect(reads.all.count >= 6)
    #expect(!reads.all.contains(true))
    try again.close()
  }
}
