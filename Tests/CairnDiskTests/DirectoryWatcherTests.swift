#if canImport(Glibc)
  import CairnDisk
  import Glibc
  import Synchronization
  import TestSupport
  import Testing

  @Suite(.timeLimit(.minutes(20)))
  struct DirectoryWatcherTests {
    let directory: TemporaryDirectory
    let disk = PosixDisk()

    init() throws { directory = try TemporaryDirectory() }

    /// How often a watcher called.
    final class Calls: Sendable {
      private let count = Atomic<Int>(0)

      var total: Int { count.load(ordering: .acquiring) }
      func add() { count.wrappingAdd(1, ordering: .acquiringAndReleasing) }

      /// Waits for more calls than `seen`; the test's time limit ends it otherwise.
      func more(than seen: Int) async throws {
        while total <= seen { try await Task.sleep(for: .milliseconds(2)) }
      }
    }

    /// Where a watcher's call finds the watcher.
    final class Slot: Sendable {
      let watcher = Lock<DirectoryWatcher?>(nil)
    }

    /// Does `change` and waits until the watcher says so.
    private func noticed(_ change: () throws -> Void) async throws {
      let calls = Calls()
      let watcher = try #require(
        DirectoryWatcher(directory: directory.path("watched")) { calls.add() })
      try change()
      try await calls.more(than: 0)
      watcher.stop()
    }

    @Test func `a new, written, renamed or removed file is noticed`() async throws {
      try disk.createDirectory(directory.path("watched"))
      let path = directory.path("watched/f")
      try await noticed { try disk.put(path, "abc") }
      try await noticed {
        let file = try disk.open(path, .readWrite)
        try file.put("x")
        file.close()
      }
      try await noticed { try disk.rename(path, to: directory.path("watched/g")) }
      try await noticed { try disk.rename(directory.path("watched/g"), to: directory.path("h")) }
      try await noticed { try disk.rename(directory.path("h"), to: path) }
      try await noticed { try disk.remove(path) }
      try await noticed { try disk.createDirectory(directory.path("watched/d")) }
    }

    @Test func `one change after another is noticed`() async throws {
      let calls = Calls()
      let watcher = DirectoryWatcher(directory: directory.path) { calls.add() }
      for number in 0..<10 {
        let seen = calls.total
        try disk.put(directory.path("\(number)"), "")
        try await calls.more(than: seen)
        // What is left of this change is not to be taken for the next.
        try await Task.sleep(for: .milliseconds(60))
      }
      withExtendedLifetime(watcher) {}
    }

    @Test func `a burst is few calls`() async throws {
      let calls = Calls()
      let watcher = DirectoryWatcher(directory: directory.path) { calls.add() }
      for number in 0..<500 { try disk.put(directory.path("\(number)"), "abc") }
      try await calls.more(than: 0)
      try await Task.sleep(for: .milliseconds(100))
      #expect(calls.total < 100)
      withExtendedLifetime(watcher) {}
    }

    /// A burst that never ends is not waited out.
    @Test func `a directory that never rests is told of all the same`() async throws {
      let calls = Calls()
      let watcher = DirectoryWatcher(directory: directory.path) { calls.add() }
      var changes = 0
      while calls.total == 0, changes < 2000 {
        try disk.put(directory.path("f"), "")
        try disk.remove(directory.path("f"))
        usleep(1000)
        changes += 1
      }
      #expect(calls.total > 0, "not in the course of \(changes) changes")
      withExtendedLifetime(watcher) {}
    }

    @Test func `nothing is said after the end`() async throws {
      let stopped = Calls()
      let dropped = Calls()
      let kept = Calls()
      let watcher = try #require(DirectoryWatcher(directory: directory.path) { stopped.add() })
      let witness = DirectoryWatcher(directory: directory.path) { kept.add() }
      var gone = DirectoryWatcher(directory: directory.path) { dropped.add() }
      #expect(gone != nil)
      gone = nil
      watcher.stop()
      watcher.stop()
      try disk.put(directory.path("f"), "abc")
      try await kept.more(than: 0)
      try await Task.sleep(for: .milliseconds(50))
      #expect(stopped.total == 0)
      #expect(dropped.total == 0)
      withExtendedLifetime(witness) {}
    }

    @Test func `nothing is said of a change that was just seen`() async throws {
      let clock = ContinuousClock()
      for number in 0..<50 {
        let calls = Calls()
        let watcher = try #require(DirectoryWatcher(directory: directory.path) { calls.add() })
        let start = clock.now
        try disk.put(directory.path("\(number)"), "")
        try await Task.sleep(for: .milliseconds(2))
        watcher.stop()
        // The watcher waits some 20 for more to come; this thread may have slept longer.
        if clock.now - start > .milliseconds(15) { continue }
        try await Task.sleep(for: .milliseconds(50))
        #expect(calls.total == 0)
        return
      }
    }

    @Test func `the last call is that the directory is gone`() async throws {
      let calls = Calls()
      try disk.createDirectory(directory.path("d"))
      let watcher = DirectoryWatcher(directory: directory.path("d")) { calls.add() }
      try disk.removeTree(directory.path("d"))
      try await calls.more(than: 0)
      try disk.createDirectory(directory.path("d"))
      try disk.put(directory.path("d/f"), "")
      try await Task.sleep(for: .milliseconds(50))
      #expect(calls.total == 1)
      withExtendedLifetime(watcher) {}
    }

    @Test func `a watcher may be stopped by its own call`() async throws {
      let calls = Calls()
      let slot = Slot()
      let watcher = DirectoryWatcher(directory: directory.path) {
        slot.watcher.withLock { $0.take()?.stop() }
        calls.add()
      }
      slot.watcher.withLock { $0 = watcher }
      try disk.put(directory.path("f"), "")
      try await calls.more(than: 0)
      try disk.put(directory.path("g"), "")
      try await Task.sleep(for: .milliseconds(100))
      #expect(calls.total == 1)
    }

    @Test func `what can't be watched is not`() throws {
      try disk.put(directory.path("f"), "")
      #expect(DirectoryWatcher(directory: directory.path("no")) {} == nil)
      #expect(DirectoryWatcher(directory: directory.path("f")) {} == nil)
      #expect(DirectoryWatcher(directory: directory.path + "\0") {} == nil)
    }

    /// In a process of its own, where no other test opens and closes.
    @Test func `watchers leave nothing open`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let before = try Descriptors.ofWatchers()
        var watchers = (0..<10).map { _ in DirectoryWatcher(directory: directory.path) {} }
        #expect(try Descriptors.ofWatchers() == before + 30)
        for watcher in watchers.prefix(5) { watcher?.stop() }
        watchers.removeAll()
        #expect(DirectoryWatcher(directory: directory.path("no")) {} == nil)
        // The threads need a moment.
        for _ in 0..<2000 where try Descriptors.ofWatchers() > before { usleep(5000) }
        #expect(try Descriptors.ofWatchers() == before)
      }
    }
  }

  /// What this process has open.
  private enum Descriptors {
    /// How many are of the kinds that a watcher has: one queue of changes, two ends of a line.
    static func ofWatchers() throws -> Int {
      try PosixDisk().list("/proc/self/fd").count { entry in
        var target = [CChar](repeating: 0, count: 64)
        let length = unsafe readlink("/proc/self/fd/" + entry.name, &target, target.count)
        let bytes = target.prefix(max(0, length)).map(UInt8.init(bitPattern:))
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasPrefix("socket:") || text.hasSuffix("inotify")
      }
    }
  }
#endif
