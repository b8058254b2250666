import CairnDisk
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What needs a process of its own: limits, and children that are not told what they inherit.
@Suite(.timeLimit(.minutes(20)))
struct PosixProcessTests {
  @Test func `too many open files is an error that leaves nothing open`() async {
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      let disk = PosixDisk()
      #expect(Limit.files(64))
      var files: [any DiskFile] = []
      let error = #expect(throws: DiskError.self) {
        for number in 0..<100 {
          files.append(try disk.open(directory.path("\(number)"), .create))
        }
      }
      #expect(error?.reason == .tooManyOpen)
      // Other threads of this process read a file of the system's now and then (the C library asks
      // how many cores there are when a second one allocates): what they give back is taken first.
      func fill() { while dup(0) >= 0 {} }
      fill()
      disk.fails(.tooManyOpen) { _ = try $0.lock(directory.path("LOCK")) }
      fill()
      disk.fails(.tooManyOpen) { _ = try $0.list(directory.path) }
      #expect(files.count > 20)
      // Those that are closed, or just no longer used, make room for others.
      for file in files.suffix(5) { file.close() }
      files.removeLast(10)
      for _ in 0..<100 { _ = try disk.open(directory.path("0"), .read) }
      files.removeAll()
      // Nor does what fails keep a descriptor.
      let lock = try disk.lock(directory.path("LOCK"))
      try disk.createDirectory(directory.path("d"))
      for _ in 0..<100 {
        disk.fails(.locked) { _ = try $0.lock(directory.path("LOCK")) }
        disk.fails(.notRegular) { _ = try $0.lock("/dev/null") }
        disk.fails(.notRegular) { _ = try $0.open(directory.path("d"), .read) }
        disk.fails(.notRegular) { _ = try $0.open("/dev/null", .read) }
      }
      lock.unlock()
      #expect(try disk.list(directory.path).count > 20)
    }
  }

  @Test func `no file takes the place of a standard stream that is closed`() async {
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      let disk = PosixDisk()
      for stream: Int32 in 0...2 { close(stream) }
      let file = try disk.open(directory.path("f"), .create)
      let lock = try disk.lock(directory.path("LOCK"))
      try file.put("abc")
      let said = Array("said".utf8)
      for stream: Int32 in 0...2 {
        // Where nothing is open it fails.
        _ = unsafe said.withUnsafeBytes { unsafe write(stream, $0.baseAddress, $0.count) }
      }
      #expect(try file.text() == "abc")
      #expect(try disk.text(directory.path("LOCK")).hasPrefix("\(getpid()) "))
      #expect(try disk.list(directory.path).map(\.name) == ["LOCK", "f"])
      file.close()
      lock.unlock()
    }
  }

  @Test func `a directory that may be listed but not looked into is an error`() async {
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      let disk = PosixDisk()
      try disk.createDirectory(directory.path("d"))
      try disk.put(directory.path("d/f"), "abc")
      for path in [directory.path, directory.path("d")] { #expect(unsafe chmod(path, 0o755) == 0) }
      #expect(unsafe chmod(directory.path("d"), 0o744) == 0)
      let isRoot = geteuid() == 0
      // An owner that is not the superuser has to obey its own mode.
      if !isRoot { #expect(unsafe chmod(directory.path("d"), 0o644) == 0) }
      if isRoot { #expect(seteuid(65_534) == 0) }
      disk.fails(.denied) { _ = try $0.list(directory.path("d")) }
      disk.fails(.denied) { _ = try $0.lockHolder(directory.path("d/f")) }
      if isRoot { #expect(seteuid(0) == 0) }
      #expect(unsafe chmod(directory.path("d"), 0o755) == 0)
      #expect(try disk.list(directory.path("d")).map(\.name) == ["f"])
    }
  }

  #if os(Linux)
    @Test func `a thread that the system refuses is none, and nothing is kept for it`() async {
      await #expect(processExitsWith: .success) {
        // The superuser may have as many as it likes.
        let isRoot = geteuid() == 0
        if isRoot { try #require(User.become(65_534)) }
        #expect(Limit.processes(1))
        var kept: Kept? = Kept()
        weak let seen = kept
        let thread = BackgroundThread { [kept] in _ = kept }
        let watcher = DirectoryWatcher(directory: "/") { [kept] in _ = kept }
        if isRoot { try #require(User.become(0)) }
        #expect(thread == nil)
        #expect(watcher == nil)
        kept = nil
        #expect(seen == nil)
      }
    }

    @Test func `no watcher takes the place of a standard stream that is closed`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let calls = DirectoryWatcherTests.Calls()
        for stream: Int32 in 0...2 { close(stream) }
        let watcher = try #require(DirectoryWatcher(directory: directory.path) { calls.add() })
        let said = Array("said".utf8)
        for stream: Int32 in 0...2 {
          let count = unsafe said.withUnsafeBytes {
            unsafe write(stream, $0.baseAddress, $0.count)
          }
          #expect(count == -1, "\(stream)")
        }
        try PosixDisk().put(directory.path("f"), "abc")
        // Its thread needs a moment.
        for _ in 0..<6000 where calls.total == 0 { usleep(5000) }
        #expect(calls.total > 0)
        withExtendedLifetime(watcher) {}
      }
    }

    @Test func `a lock file that is always another one by then is not locked`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let disk = PosixDisk()
        let path = directory.path("LOCK")
        CallProbe.beforeLock {
          try? disk.put(directory.path("new"), "")
          try? disk.rename(directory.path("new"), to: path)
        }
        let error = #expect(throws: DiskError.self) { try disk.lock(path) }
        #expect(error?.reason == .locked)
        #expect(error?.detail == "it is replaced again and again")
        CallProbe.beforeLock(nil)
        try disk.lock(path).unlock()
      }
    }

    @Test func `a directory's names that can't be had are an error`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let disk = PosixDisk()
        CallProbe.failOpening(with: ENOMEM)
        disk.fails(.io(errno: ENOMEM)) { _ = try $0.list(directory.path) }
        #expect(try disk.list(directory.path).isEmpty)
      }
    }

    @Test func `a name of which the system says nothing keeps no other from being told`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let disk = PosixDisk()
        for name in ["a", "b", "c"] { try disk.put(directory.path(name), "abc") }
        let whole = try disk.list(directory.path, after: nil)
        #expect(whole.unread.isEmpty)
        for code in [EIO, EACCES, EINVAL] {
          CallProbe.failStatus(of: ["b"], with: code)
          let listing = try disk.list(directory.path, after: whole)
          #expect(listing.entries.map(\.name) == ["a", "c"] && listing.unread == ["b"])
          #expect(try disk.list(directory.path, after: listing) === listing)
          // Nothing can be told quickly of such a one.
          #expect(try !disk.isUnchanged(directory.path, since: listing, at: []))
          let wanted = try disk.list(directory.path, only: { $0 != "b" })
          #expect(wanted.map(\.name) == ["a", "c"])
          disk.fails(DiskError.Reason(errno: code)) {
            _ = try $0.list(directory.path, only: { $0 == "b" })
          }
          disk.fails(DiskError.Reason(errno: code)) { _ = try $0.list(directory.path) }
        }
        // All of them: it is the directory that can't be listed.
        CallProbe.failStatus(of: ["a", "b", "c"], with: EIO)
        disk.fails(.io(errno: EIO)) { _ = try $0.list(directory.path, after: whole) }
        CallProbe.failStatus(of: [], with: 0)
        #expect(try disk.list(directory.path, after: whole) === whole)
      }
    }

    @Test func `names that can't be read to their end are an error`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let disk = PosixDisk()
        try disk.put(directory.path("f"), "abc")
        CallProbe.atEndOfNames { EIO }
        disk.fails(.io(errno: EIO)) { _ = try $0.list(directory.path) }
        #expect(try disk.list(directory.path).map(\.name) == ["f"])
      }
    }

    @Test func `what somebody else removes meanwhile is just not there`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let disk = PosixDisk()
        let path = directory.path("d")
        try disk.createDirectory(path)
        for name in ["f", "g"] { try disk.put(path + "/" + name, "abc") }
        CallProbe.atEndOfNames {
          _ = unsafe unlink(path + "/f")
          return 0
        }
        #expect(try disk.list(path).map(\.name) == ["g"])
        let isSeen = Flag()
        CallProbe.atEndOfNames {
          isSeen.raise()
          _ = unsafe unlink(path + "/g")
          return unsafe rmdir(path) == 0 ? 0 : EIO
        }
        try disk.removeTree(path)
        #expect(isSeen.isUp)
        #expect(try disk.info(path) == nil)
      }
    }

    @Test func `a lock that the system refuses for another reason is no other's`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let disk = PosixDisk()
        try disk.put(directory.path("LOCK"), "")
        CallProbe.failLocking(with: ENOLCK)
        disk.fails(.io(errno: ENOLCK)) { _ = try $0.lock(directory.path("LOCK")) }
        CallProbe.failLocking(with: ENOLCK)
        disk.fails(.io(errno: ENOLCK)) { _ = try $0.lockHolder(directory.path("LOCK")) }
        try disk.lock(directory.path("LOCK")).unlock()
      }
    }

    /// As Linux' cifs says it of a lock that another machine has.
    @Test func `a lock that is denied though its file is open is somebody else's`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let disk = PosixDisk()
        try disk.put(directory.path("LOCK"), "4711\n")
        CallProbe.failLocking(with: EACCES)
        let error = #expect(throws: DiskError.self) { try disk.lock(directory.path("LOCK")) }
        #expect(error?.reason == .locked && error?.detail == "by process 4711")
        CallProbe.failLocking(with: EACCES)
        #expect(try disk.lockHolder(directory.path("LOCK")) == "by process 4711")
        #expect(try disk.lockHolder(directory.path("LOCK")) == nil)
        try disk.lock(directory.path("LOCK")).unlock()
      }
    }
  #endif

  @Test func `a write that the system cuts short goes on to its end or its error`() async {
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      let disk = PosixDisk()
      signal(SIGXFSZ, SIG_IGN)
      let file = try disk.open(directory.path("f"), .create)
      #expect(Limit.fileSize(500))
      let bytes = [UInt8](repeating: 7, count: 800)
      let error = #expect(throws: DiskError.self) { try file.write(bytes.span, at: 0) }
      #expect(error?.reason == .io(errno: EFBIG))
      // The first call took what it could: only the second could fail.
      #expect(try file.size() == 500)
      try file.write(bytes.span.extracting(first: 500), at: 0)
      // What measures this run writes a file when the process ends.
      #expect(Limit.fileSize(.max))
    }
  }

  @Test func `a forked child can't end its parent's lock, and the parent can`() async {
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      let path = directory.path("LOCK")
      let disk = PosixDisk()
      var lock: (any DiskLock)? = try disk.lock(path)
      let fork = try #require(ForkedChild.by("fork"))
      // Ends its copy of the lock, tries to have one of its own, and stays.
      let child = fork()
      if child == 0 {
        lock?.unlock()
        lock = nil
        do {
          _ = try disk.lock(path)
        } catch {
          _exit((error as? DiskError)?.reason == .locked ? 3 : 4)
        }
        _exit(5)
      }
      #expect(ForkedChild.wait(child) == 3)
      disk.fails(.locked) { _ = try $0.lock(path) }
      if PosixLockTests.hasFlock {
        let code = try ChildProcess.run(PosixLockTests.flock, "-n", "-E", "77", path, "/bin/true")
        #expect(code == 77)
      }
      // A child that holds on to its copy does not keep the lock.
      let idle = fork()
      if idle == 0 {
        sleep(50)
        _exit(0)
      }
      // One that wants the lock itself gets it, whatever it has heard of its parent's.
      let heir = fork()
      if heir == 0 {
        for _ in 0..<4000 {
          if (try? disk.lock(path)) != nil { _exit(0) }
          usleep(5000)
        }
        _exit(6)
      }
      lock?.unlock()
      #expect(ForkedChild.wait(heir) == 0)
      try disk.lock(path).unlock()
      kill(idle, SIGKILL)
      #expect(ForkedChild.wait(idle) == -1)
    }
  }

  #if os(Linux)
    /// Such children run none of the handlers that the C library calls at a fork.
    @Test(.enabled(if: ForkedChild.by("_Fork") != nil))
    func `a child of which the C library is not told does not own its parent's lock`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let lock = try PosixDisk().lock(directory.path("LOCK"))
        let fork = try #require(ForkedChild.by("_Fork"))
        #expect(lock.isOwn)
        let child = fork()
        if child == 0 {
          if lock.isOwn { _exit(3) }
          // Nor does its own child.
          let grandchild = fork()
          if grandchild == 0 { _exit(lock.isOwn ? 4 : 0) }
          _exit(ForkedChild.wait(grandchild))
        }
        #expect(ForkedChild.wait(child) == 0)
        #expect(lock.isOwn)
        lock.unlock()
      }
    }
  #endif
}

/// What a thread would hold on to.
private final class Kept: Sendable {}

/// Sets limits of this process, and says whether it could.
private enum Limit {
  #if canImport(Darwin)
    typealias Resource = Int32
    static let descriptors = RLIMIT_NOFILE
    static let size = RLIMIT_FSIZE
    static let users = RLIMIT_NPROC
  #else
    typealias Resource = __rlimit_resource_t
    static let descriptors = Resource(RLIMIT_NOFILE.rawValue)
    static let size = Resource(RLIMIT_FSIZE.rawValue)
    static let users = Resource(__RLIMIT_NPROC.rawValue)
  #endif

  static func files(_ count: rlim_t) -> Bool { set(descriptors, count) }
  /// `.max`: as many as there may be.
  static func fileSize(_ bytes: rlim_t) -> Bool { set(size, bytes) }
  static func processes(_ count: rlim_t) -> Bool { set(users, count) }

  private static func set(_ resource: Resource, _ value: rlim_t) -> Bool {
    var limit = rlimit()
    guard unsafe getrlimit(resource, &limit) == 0 else { return false }
    limit.rlim_cur = min(value, limit.rlim_max)
    return unsafe setrlimit(resource, &limit) == 0
  }
}

#if os(Linux)
  /// Who this process is; it stays the superuser by its saved id, and may become it again.
  private enum User {
    static func become(_ id: uid_t) -> Bool {
      guard let symbol = unsafe dlsym(nil, "setresuid") else { return false }
      typealias Call = @convention(c) (uid_t, uid_t, uid_t) -> Int32
      return unsafe unsafeBitCast(symbol, to: Call.self)(id, id, 0) == 0
    }
  }
#endif

/// Swift hides `fork`, rightly; here it is what is tested.
private enum ForkedChild {
  static func by(_ name: String) -> (@convention(c) () -> pid_t)? {
    guard let symbol = unsafe dlsym(nil, name) else { return nil }
    return unsafe unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)
  }

  static func wait(_ process: pid_t) -> Int32 {
    var raw: Int32 = 0
    while unsafe waitpid(process, &raw, 0) == -1 && errno == EINTR {}
    return raw & 0x7F == 0 ? (raw >> 8) & 0xFF : -1
  }
}
