internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Tells a process from the children that are forked from it. Every commit asks, and the system's
/// answer costs a quarter of a microsecond; so the C library is asked to say when there was a fork.
struct ProcessMark {
  let process: pid_t
  private let forks: Int

  /// The mark of this process.
  init() {
    _ = ProcessMark.isTold
    process = getpid()
    forks = ProcessMark.forks.load(ordering: .relaxed)
  }

  /// Whether this still is the process of the mark.
  var isOwn: Bool {
    if ProcessMark.isTold { return ProcessMark.forks.load(ordering: .relaxed) == forks }
    return getpid() == process
  }

  /// How many forks lie between this process and the one that first made a mark.
  private static let forks = Atomic<Int>(0)
  /// Whether they are counted. In a child nothing else can run yet when its one is.
  private static let isTold =
    pthread_atfork(nil, nil) { ProcessMark.noteFork() } == 0

  private static func noteFork() { forks.add(1, ordering: .relaxed) }
}
