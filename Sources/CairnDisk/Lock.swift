package import Synchronization

#if CAIRN_THREAD_SANITIZER
  #if canImport(Glibc)
    internal import Glibc
  #elseif canImport(Darwin)
    internal import Darwin
  #endif

  /// The thread sanitizer does not see the system calls inside `Mutex` on Linux and takes all that
  /// it guards for races. For a build under the sanitizer this is the same with a lock it knows.
  // Unchecked: the value is only ever touched under the lock.
  package final class Lock<Value>: @unchecked Sendable {
    private let handle: UnsafeMutablePointer<pthread_mutex_t>
    // A value without a size would lie where the object begins, and be taken for what every call
    // reads there; a byte beside it gives it a place of its own.
    private var guarded: (value: Value, place: UInt8)

    package init(_ value: consuming Value) {
      unsafe handle = .allocate(capacity: 1)
      unsafe pthread_mutex_init(handle, nil)
      guarded = (value, 0)
    }

    deinit {
      unsafe pthread_mutex_destroy(handle)
      unsafe handle.deallocate()
    }

    package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
      unsafe pthread_mutex_lock(handle)
      defer { unsafe pthread_mutex_unlock(handle) }
      return try body(&guarded.value)
    }
  }
#else
  /// A value and the lock that guards it.
  package typealias Lock = Mutex
#endif
