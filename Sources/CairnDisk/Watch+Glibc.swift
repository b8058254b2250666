#if canImport(Glibc)
  internal import Glibc
  internal import Synchronization

  /// What a watcher's thread works on. The thread keeps it alive, so a descriptor is closed only
  /// when neither side uses it any more.
  final class Watch: Sendable {
    private let events: Int32
    /// Two ends of a line that carries nothing but the wish to end.
    private let wakeReader: Int32
    private let wakeWriter: Int32
    private let onChange: @Sendable () -> Void
    private let isOver = Atomic<Bool>(false)
    private let hasEnded = Atomic<Bool>(false)

    /// What is watched has gone from its place, or what was lost may have said so.
    var isEnded: Bool { hasEnded.load(ordering: .acquiring) }

    init?(_ directory: String, _ onChange: @escaping @Sendable () -> Void) {
      self.onChange = onChange
      events = Watch.aboveStreams(inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC)))
      // Not a pipe, which has to be told afterwards to close when the process starts another.
      let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
      var ends: [Int32] = [-1, -1]
      let hasEnds = unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0
      (wakeReader, wakeWriter) = (Watch.aboveStreams(ends[0]), Watch.aboveStreams(ends[1]))
      let interest =
        UInt32(IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE)
        | UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
      guard events >= 0, hasEnds, wakeReader >= 0, wakeWriter >= 0, !directory.utf8.contains(0),
        unsafe inotify_add_watch(events, directory, interest) >= 0
      else { return nil }
    }

    /// -1 where there is none, or no more can be had.
    private static func aboveStreams(_ descriptor: Int32) -> Int32 {
      // Whatever the reason, nothing is watched then.
      (try? SystemCall.aboveStreams("watch", "", descriptor)) ?? -1
    }

    deinit {
      for descriptor in [events, wakeReader, wakeWriter] where descriptor >= 0 {
        closeDescriptor(descriptor)
      }
    }

    /// Starts the thread. False if there can't be one.
    func start() -> Bool {
      // The host's signal handlers are not to run on a thread it knows nothing of.
      var all = sigset_t()
      var before = sigset_t()
      unsafe sigfillset(&all)
      unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
      defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
      var thread = pthread_t()
      let held = unsafe Unmanaged.passRetained(self)
      let code = unsafe pthread_create(
        &thread, nil,
        { argument in
          if let argument = unsafe argument {
            unsafe Unmanaged<Watch>.fromOpaque(argument).takeRetainedValue().run()
          }
          return nil
        }, held.toOpaque())
      guard code == 0 else {
        unsafe held.release()
        return false
      }
      pthread_detach(thread)
      return true
    }

    func stop() {
      isOver.store(true, ordering: .releasing)
      var any: UInt8 = 0
      // Can't fail but for a line that is full, which wakes the thread as well.
      _ = unsafe write(wakeWriter, &any, 1)
    }

    /// How long to wait for more changes before saying so.
    private static let burstMilliseconds: Int32 = 20

    private func run() {
      while wait(-1) {
        drain()
        // One call for a burst, and a limit to how long a burst may be.
        for _ in 0..<10 {
          guard wait(Self.burstMilliseconds) else { break }
          drain()
        }
        if isOver.load(ordering: .acquiring) { return }
        onChange()
      }
    }

    /// Waits for changes; false after the time, or when it is over.
    private func wait(_ milliseconds: Int32) -> Bool {
      var polled = [
        pollfd(fd: events, events: Int16(POLLIN), revents: 0),
        pollfd(fd: wakeReader, events: Int16(POLLIN), revents: 0),
      ]
      var count: Int32
      repeat { count = unsafe poll(&polled, 2, milliseconds) } while count < 0 && errno == EINTR
      return count > 0 && polled[1].revents == 0 && !isOver.load(ordering: .acquiring)
    }

    /// Takes the changes off the queue. What they are is of no interest, but for the last.
    private func drain() {
      var buffer = [UInt8](repeating: 0, count: 16 * 1024)
      while true {
        let count = unsafe buffer.withUnsafeMutableBytes {
          unsafe read(events, $0.baseAddress, $0.count)
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        if Watch.hasEnd(buffer[..<count]) { hasEnded.store(true, ordering: .releasing) }
      }
    }

    /// Of a name that was taken away, or of more changes than the queue could hold: that one may
    /// have been among them.
    private static let end = UInt32(
      IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED | IN_Q_OVERFLOW)

    /// Whether one of the changes, each an `inotify_event` and a name, is such an end.
    private static func hasEnd(_ changes: ArraySlice<UInt8>) -> Bool {
      func word(_ start: Int) -> UInt32 {
        unsafe changes.withUnsafeBytes {
          unsafe $0.loadUnaligned(fromByteOffset: start, as: UInt32.self)
        }
      }
      var start = 0
      while start + 16 <= changes.count {
        if word(start + 4) & end != 0 { return true }
        start += 16 + Int(word(start + 12))
      }
      return false
    }
  }
#endif
