import CairnDisk
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The small things the rest stands on: system calls, their errors, the clock, random numbers.
struct SystemTests {
  #if canImport(Darwin)
    private static let notPermitted = DiskError.Reason.withheld
  #else
    private static let notPermitted = DiskError.Reason.denied
  #endif

  @Test func `an interrupted call is made again`() throws {
    var calls = 0
    let result = try SystemCall.run("try", "/path") { () -> Int in
      calls += 1
      if calls == 3 { return 7 }
      errno = EINTR
      return -1
    }
    #expect(result == 7)
    #expect(calls == 3)
  }

  @Test func `a failed call is made once`() {
    var calls = 0
    let error = #expect(throws: DiskError.self) {
      try SystemCall.run("try", "/path") { () -> Int32 in
        calls += 1
        errno = EIO
        return -1
      }
    }
    #expect(error == DiskError(reason: .io(errno: EIO), operation: "try", path: "/path"))
    #expect(calls == 1)
  }

  @Test(arguments: [
    (ENOENT, DiskError.Reason.notFound), (EEXIST, .exists), (ENOSPC, .noSpace), (EDQUOT, .noSpace),
    (EROFS, .readOnly), (EACCES, .denied), (EPERM, SystemTests.notPermitted), (ELOOP, .notRegular),
    (EISDIR, .notRegular), (ENOTDIR, .notRegular), (ENXIO, .notRegular), (EMFILE, .tooManyOpen),
    (ENFILE, .tooManyOpen), (EIO, .io(errno: EIO)), (EFBIG, .io(errno: EFBIG)),
  ])
  func `an error number has a reason`(code: Int32, reason: DiskError.Reason) {
    #expect(DiskError(errno: code, operation: "", path: "").reason == reason)
  }

  @Test func `every error says what, where and what to do`() {
    let reasons: [DiskError.Reason] = [
      .notFound, .exists, .noSpace, .readOnly, .denied, .withheld, .locked, .notRegular,
      .tooManyOpen, .io(errno: EIO), .io(errno: 99_999),
    ]
    var seen: Set<String> = []
    for reason in reasons {
      let text = "\(DiskError(reason: reason, operation: "sync", path: "/a/b", detail: "why"))"
      #expect(text.hasPrefix("could not sync \"/a/b\": "))
      #expect(text.contains(" (why); "))
      seen.insert(text)
    }
    #expect(seen.count == reasons.count)
    let text = "\(DiskError(errno: EIO, operation: "sync", path: "/a/b"))"
    #expect(text.contains("(errno 5); check the disk"))
  }

  @Test func `the clock shows the time`() {
    let before = Int64(time(nil)) * 1000
    let now = SystemClock().now()
    let after = Int64(time(nil)) * 1000
    // The two clocks of the system differ by a tick at most.
    #expect(now >= before - 1000 && now < after + 2000)
  }

  /// In a process of its own, since others may be reading theirs.
  @Test(.timeLimit(.minutes(20)))
  func `a variable that is not set is as one without a value`() async {
    await #expect(processExitsWith: .success) {
      #expect(unsafe setenv("CAIRN_TEST_EMPTY", "", 1) == 0)
      #expect(unsafe setenv("CAIRN_TEST_FULL", "a b", 1) == 0)
      #expect(ProcessEnvironment.value("CAIRN_TEST_FULL") == "a b")
      #expect(ProcessEnvironment.value("CAIRN_TEST_EMPTY") == nil)
      #expect(ProcessEnvironment.value("CAIRN_TEST_MISSING") == nil)
    }
  }

  @Test func `the directory of a name alone is the one that one is in`() {
    #expect(FilePath.parent(of: "f") == ".")
    #expect(FilePath.parent(of: "d//f/") == "d")
    #expect(FilePath.parent(of: "/f") == "/")
    #expect(FilePath.parent(of: "//") == nil)
    #expect(FilePath.trimmed("é/") == "é")
  }

  @Test func `a disk that can't tell says so`() throws {
    let disk = MemoryDisk()
    try disk.put("/f", "abc")
    #expect(try disk.lockHolder("/f") == nil)
    #expect(try disk.freeBytes("/f") == nil)
    #expect(disk.isWritable("/f"))
  }

  @Test func `random numbers differ`() {
    let random = SystemRandom()
    #expect(Set((0..<1000).map { _ in random.next() }).count == 1000)
  }

  @Test func `the real machine is this computer`() throws {
    #expect(Machine.real.disk is PosixDisk)
    #expect(try Machine.real.disk.info("/")?.kind == .directory)
    #expect(Machine.real.clock is SystemClock)
    #expect(Machine.real.random is SystemRandom)
  }
}
