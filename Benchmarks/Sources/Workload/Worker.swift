import Glibc

/// A thread of its own: of Swift's own there are only as many as cores, and these wait for disks.
public struct Worker: Sendable {
  private let handle: pthread_t

  private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts at once; nil if the system has no thread to give.
  public init?(_ run: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let body = Unmanaged.passRetained(Body(run))
    let status = pthread_create(
      &thread, nil,
      { pointer in
        guard let pointer else { return nil }
        Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue().run()
        return nil
      }, body.toOpaque())
    guard status == 0 else {
      body.release()
      return nil
    }
    handle = thread
  }

  public func join() { pthread_join(handle, nil) }

  /// Does the same in so many threads, which are told their numbers, and waits for all.
  public static func inParallel(_ count: Int, _ run: @escaping @Sendable (Int) -> Void) {
    let workers = (0..<count).compactMap { number in Worker { run(number) } }
    for worker in workers { worker.join() }
  }
}
