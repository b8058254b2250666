#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif
internal import Synchronization

/// A lock for what takes long and may call somebody who comes back: the thread that has it may take
/// it again, and is told so. It guards no value.
package final class NestedLock: Sendable {
  private let condition = Condition()
  /// The thread that has it; 0 is none. Only that thread itself can find itself there.
  private let owner = Atomic<UInt>(0)

  package init() {}

  package func withLock<R, E: Error>(_ body: (_ isNested: Bool) throws(E) -> R) throws(E) -> R {
    let thread = NestedLock.thread
    if owner.load(ordering: .acquiring) == thread { return try body(true) }
    condition.withLock {
      while owner.load(ordering: .acquiring) != 0 { condition.wait() }
      owner.store(thread, ordering: .releasing)
    }
    defer {
      condition.withLock {
        owner.store(0, ordering: .releasing)
        condition.wakeAll()
      }
    }
    return try body(false)
  }

  private static var thread: UInt {
    #if canImport(Darwin)
      unsafe UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
