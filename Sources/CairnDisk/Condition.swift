#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// A lock whose holders can wait for one another. What it guards is its owner's.
// Unchecked: the two handles are made for being used by all threads, and never replaced.
@safe package final class Condition: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let change: UnsafeMutablePointer<pthread_cond_t>

  package init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe change = .allocate(capacity: 1)
    unsafe pthread_mutex_init(mutex, nil)
    #if canImport(Darwin)
      unsafe pthread_cond_init(change, nil)
    #else
      // The time of day may jump; what is waited for does not.
      var kind = pthread_condattr_t()
      unsafe pthread_condattr_init(&kind)
      unsafe pthread_condattr_setclock(&kind, CLOCK_MONOTONIC)
      unsafe pthread_cond_init(change, &kind)
      unsafe pthread_condattr_destroy(&kind)
    #endif
  }

  deinit {
    unsafe pthread_cond_destroy(change)
    unsafe pthread_mutex_destroy(mutex)
    unsafe change.deallocate()
    unsafe mutex.deallocate()
  }

  package func withLock<R>(_ body: () -> R) -> R {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body()
  }

  /// For who holds the lock: gives it away until `wakeAll` is called, and has it again after that.
  /// May also return without a reason.
  package func wait() { unsafe pthread_cond_wait(change, mutex) }

  /// The same, and no longer than until then (see `now`).
  package func wait(until time: UInt64) {
    #if canImport(Darwin)
      let now = Condition.now
      var rest = Condition.time(time > now ? time - now : 0)
      unsafe pthread_cond_timedwait_relative_np(change, mutex, &rest)
    #else
      var time = Condition.time(time)
      unsafe pthread_cond_timedwait(change, mutex, &time)
    #endif
  }

  /// All who wait go on, one after the other: to be called after what they wait for has changed.
  package func wakeAll() { unsafe pthread_cond_broadcast(change) }

  /// Nanoseconds of a clock that never jumps.
  package static var now: UInt64 {
    var time = timespec()
    // Can't fail for this clock.
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  private static func time(_ nanoseconds: UInt64) -> timespec {
    timespec(
      tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }
}
