#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif
import Synchronization

/// A thread for work that blocks for long: such work has no place on the threads of Swift's
/// concurrency, of which there are only as many as cores.
package final class BackgroundThread: Sendable {
  private let finished: Finished
  private let handle: Lock<pthread_t?>

  private final class Finished: Sendable {
    let flag = Atomic<Bool>(false)
  }

  private final class Job: Sendable {
    let body: @Sendable () -> Void
    let finished: Finished

    init(_ body: @escaping @Sendable () -> Void, _ finished: Finished) {
      self.body = body
      self.finished = finished
    }
  }

  /// Starts at once; nil if the system has no thread to give.
  package init?(_ body: @escaping @Sendable () -> Void) {
    let finished = Finished()
    self.finished = finished
    let job = unsafe Unmanaged.passRetained(Job(body, finished))
    #if canImport(Glibc)
      var thread = pthread_t()
    #else
      var thread: pthread_t?
    #endif
    let code = unsafe pthread_create(
      &thread, nil,
      { argument in
        #if canImport(Glibc)
          guard let argument = unsafe argument else { return nil }
        #endif
        let job = unsafe Unmanaged<Job>.fromOpaque(argument).takeRetainedValue()
        job.body()
        job.finished.flag.store(true, ordering: .releasing)
        return nil
      }, job.toOpaque())
    guard code == 0 else {
      unsafe job.release()
      return nil
    }
    handle = Lock(thread)
  }

  package var isFinished: Bool { finished.flag.load(ordering: .acquiring) }

  /// Waits for the end. May be called again, and from several threads: one of them waits.
  package func join() {
    handle.withLock { handle in
      guard let thread = handle else { return }
      _ = pthread_join(thread, nil)
      handle = nil
    }
  }

  deinit {
    handle.withLock { handle in
      if let thread = handle { pthread_detach(thread) }
      handle = nil
    }
  }
}
