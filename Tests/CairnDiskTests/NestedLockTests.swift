import CairnDisk
import Synchronization
import TestSupport
import Testing

/// A lock that its thread may take again.
@Suite struct NestedLockTests {
  private struct Failure: Error {}

  @Test func `who has it may take it again, and is told so`() {
    let lock = NestedLock()
    let found = lock.withLock { outer in lock.withLock { inner in [outer, inner] } }
    #expect(found == [false, true])
    #expect(!lock.withLock { isNested in isNested })
  }

  @Test func `an error gives it back`() {
    let lock = NestedLock()
    #expect(throws: Failure.self) {
      try lock.withLock { _ throws(Failure) in throw Failure() }
    }
    #expect(!lock.withLock { isNested in isNested })
  }

  @Test func `other threads wait until it is given back`() throws {
    let lock = NestedLock()
    let count = Lock(0)
    try Threads.run(4) { _ in
      for _ in 0..<500 {
        lock.withLock { isNested in
          let before = count.withLock { $0 }
          lock.withLock { _ in count.withLock { $0 = before + (isNested ? 2 : 1) } }
        }
      }
    }
    #expect(count.withLock { $0 } == 2000)
  }
}
