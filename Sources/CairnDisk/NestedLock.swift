#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// A lock for what takes long and may call somebody who comes back: the thread that has it may take
/// it again, and is told so. It guards no value.
// Unchecked: the handle is made for being used by all threads, and never replaced; the depth is
// only touched by who holds it.
@safe package final class NestedLock: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private var depth = 0

  package init() {
    unsafe mutex = .allocate(capacity: 1)
    var kind = pthread_mutexattr_t()
    unsafe pthread_mutexattr_init(&kind)
    unsafe pthread_mutexattr_settype(&kind, Int32(PTHREAD_MUTEX_RECURSIVE))
    unsafe pthread_mutex_init(mutex, &kind)
    unsafe pthread_mutexattr_destroy(&kind)
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  package func withLock<R, E: Error>(_ body: (_ isNested: Bool) throws(E) -> R) throws(E) -> R {
    unsafe pthread_mutex_lock(mutex)
    depth += 1
    defer {
      depth -= 1
      unsafe pthread_mutex_unlock(mutex)
    }
    return try body(depth > 1)
  }
}
