import CairnDisk
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Files that nobody but the user may read.
@Suite struct PrivateFileTests {
  @Test(arguments: DiskKind.allCases)
  func `a private file is made once and read back`(_ kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let path = bench.path("secret")
    bench.disk.fails(.notFound) { _ = try $0.open(path, .readPrivate) }
    let file = try bench.disk.open(path, .createPrivate)
    try file.put("abc")
    file.close()
    bench.disk.fails(.exists) { _ = try $0.open(path, .createPrivate) }
    let read = try bench.disk.open(path, .readPrivate)
    #expect(try read.text() == "abc")
    #expect(throws: DiskError.self) { try read.put("x") }
    try bench.disk.createPrivateDirectory(bench.path("a/b"))
    #expect(try bench.disk.info(bench.path("a/b"))?.kind == .directory)
    try bench.disk.createPrivateDirectory(bench.path("a/b"))
  }

  /// In a process of its own, whose umask takes nothing away.
  @Test(.timeLimit(.minutes(20)))
  func `modes are narrow from the start, whatever the umask is`() async {
    await #expect(processExitsWith: .success) {
      umask(0)
      let place = try TemporaryDirectory()
      let disk = PosixDisk()
      func mode(_ name: String) -> mode_t {
        var status = stat()
        _ = unsafe stat(place.path(name), &status)
        return status.st_mode & 0o777
      }
      try disk.put(place.path("open"), "")
      try disk.open(place.path("file"), .createPrivate).close()
      try disk.createPrivateDirectory(place.path("above/private"))
      #expect(mode("open") == 0o666)
      #expect(mode("file") == 0o600)
      #expect(mode("above/private") == 0o700)
      #expect(mode("above") == 0o777)
    }
  }

  @Test(arguments: [0o640, 0o604, 0o620, 0o602, 0o610, 0o777])
  func `a file that others may touch is refused`(_ mode: Int) throws {
    let place = try TemporaryDirectory()
    let path = place.path("file")
    try PosixDisk().open(path, .createPrivate).close()
    #expect(unsafe chmod(path, mode_t(mode)) == 0)
    PosixDisk().fails(.exposed) { _ = try $0.open(path, .readPrivate) }
    let disk = MemoryDisk()
    try disk.setBytes("/file", [])
    disk.fails(.exposed) { _ = try $0.open("/file", .readPrivate) }
  }

  /// Whether this process may give a file to somebody else.
  private static let givesAway: Bool = {
    // Whatever the reason that it can't be done here, the test is left out.
    guard geteuid() == 0, let place = try? TemporaryDirectory() else { return false }
    return unsafe chown(place.path, 65534, 65534) == 0
  }()

  @Test(.enabled(if: PrivateFileTests.givesAway, "giving files away needs root"))
  func `a file that is somebody else's is refused`() throws {
    let place = try TemporaryDirectory()
    let path = place.path("file")
    try PosixDisk().open(path, .createPrivate).close()
    try PosixDisk().open(path, .readPrivate).close()
    try #require(unsafe chown(path, 65534, 65534) == 0)
    PosixDisk().fails(.exposed) { _ = try $0.open(path, .readPrivate) }
    try PosixDisk().open(path, .read).close()
  }

  @Test func `a lock that is held for a moment is waited for`() throws {
    let place = try TemporaryDirectory()
    let held = try PosixDisk().lock(place.path("LOCK"))
    let thread = try #require(
      BackgroundThread {
        usleep(20_000)
        held.unlock()
      })
    let lock = try PosixDisk().lockWaiting(place.path("LOCK"))
    PosixDisk().fails(.locked) { _ = try $0.lock(place.path("LOCK")) }
    lock.unlock()
    thread.join()
    PosixDisk().fails(.notFound) { _ = try $0.lockWaiting(place.path("no/LOCK")) }
  }

  @Test func `a lock that is not given back is not waited for without end`() throws {
    let place = try TemporaryDirectory()
    let held = try PosixDisk().lock(place.path("LOCK"))
    PosixDisk().fails(.locked) { _ = try $0.lockWaiting(place.path("LOCK"), pauses: 3) }
    held.unlock()
    try PosixDisk().lockWaiting(place.path("LOCK"), pauses: 0).unlock()
  }
}
