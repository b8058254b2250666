import Cairn
import CairnDisk
import TestSupport
import Testing

/// What a compaction clears away while others write.
@Suite(.timeLimit(.minutes(20)))
struct UpkeepConcurrencyTests {
  /// It did: a file that was just being written, under its temporary name, was taken for one that
  /// a crash had left.
  @Test func `a compaction takes nothing away that an exchange is just writing`() async throws {
    let bench = try FolderWorkbench()
    let datastore = try bench.open("A")
    let isOver = Flag()
    let failure = Flag()
    let thread = BackgroundThread {
      while !isOver.isUp {
        do { try datastore.compact() } catch { failure.raise() }
      }
    }
    defer {
      isOver.raise()
      thread?.join()
    }
    for number in 0..<60 {
      try datastore.add("\(number)")
      let report = try await datastore.exchange()
      #expect(report.publishedDeltas == 1)
    }
    #expect(!failure.isUp)
  }
}
