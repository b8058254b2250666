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
      disk.fails(.tooManyOpen) { _ = try $0.lock(directory.path("LOCK")) }
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

/// Sets limits of this process, and says whether it could.
private enum Limit {
  #if canImport(Darwin)
    typealias Resource = Int32
    static let descriptors = RLIMIT_NOFILE
    static let size = RLIMIT_FSIZE
  #else
    typealias Resource = __rlimit_resource_t
    static let descriptors = Resource(RLIMIT_NOFILE.rawValue)
    static let size = Resource(RLIMIT_FSIZE.rawValue)
  #endif

  static func files(_ count: rlim_t) -> Bool { set(descriptors, count) }
  static func fileSize(_ bytes: rlim_t) -> Bool { set(size, bytes) }

  private static func set(_ resource: Resource, _ value: rlim_t) -> Bool {
    var limit = rlimit()
    guard unsafe getrlimit(resource, &limit) == 0 else { return false }
    limit.rlim_cur = value
    return unsafe setrlimit(resource, &limit) == 0
  }
}

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
