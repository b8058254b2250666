import CairnBytes
import CairnMerge
import Synchronization
import Testing

@testable import CairnStore

/// What a commit leaves in memory for the next one.
struct CommitMemoryTests {
  /// Those of a commit of so many records with one field each.
  private func cellsKept(after count: Int) throws -> Int {
    let device = try StoreDevice(1)
    for number in 0..<count { try device.store.insert("r\(number)", ["n": 1]) }
    try device.store.sync()
    return device.store.state.withLock { guarded in guarded.tail.draft.rows.count }
  }

  @Test func `the memory of a commit is kept for the next one, and that of a large one is not`()
    throws
  {
    #expect(try cellsKept(after: 10) == 10)
    #expect(try cellsKept(after: 1024) == 1024)
    #expect(try cellsKept(after: 1025) == 0)
  }
}
