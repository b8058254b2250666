import CairnDisk
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Directories of the real disk, with what people and other programs leave in them.
struct PosixTreeTests {
  let directory: TemporaryDirectory
  let disk = PosixDisk()

  init() throws { directory = try TemporaryDirectory() }

  @Test func `removing a tree does not follow the links in it`() throws {
    try disk.createDirectory(directory.path("outside"))
    try disk.put(directory.path("outside/kept"), "abc")
    try disk.createDirectory(directory.path("tree/sub"))
    #expect(unsafe symlink("../../outside", directory.path("tree/sub/link")) == 0)
    #expect(unsafe symlink("../outside/kept", directory.path("tree/file")) == 0)
    #expect(unsafe symlink("/nowhere/at/all", directory.path("tree/broken")) == 0)
    try disk.removeTree(directory.path("tree"))
    #expect(try disk.info(directory.path("tree")) == nil)
    #expect(try disk.text(directory.path("outside/kept")) == "abc")
  }

  @Test(arguments: ["link", "link/", "link//"])
  func `removing a tree by a link to it removes the link`(name: String) throws {
    try disk.createDirectory(directory.path("outside"))
    try disk.put(directory.path("outside/kept"), "abc")
    #expect(unsafe symlink("outside", directory.path("link")) == 0)
    #expect(try disk.info(directory.path(name))?.kind == .other)
    try disk.removeTree(directory.path(name))
    #expect(try disk.list(directory.path).map(\.name) == ["outside"])
    #expect(try disk.text(directory.path("outside/kept")) == "abc")
  }

  @Test func `whoever removes a tree returns when it is gone, though others remove it, too`()
    throws
  {
    for round in 0..<10 {
      let tree = directory.path("tree\(round)")
      for part in 0..<40 { try disk.createDirectory("\(tree)/\(part)/a/b") }
      let remove: @Sendable () -> Void = { [disk] in
        do { try disk.removeTree(tree) } catch {}
      }
      let other = try #require(BackgroundThread(remove))
      defer { other.join() }
      do { try disk.removeTree(tree) } catch {
        // What another one has put there meanwhile would be one reason; nobody does.
        Issue.record("round \(round): \(error)")
      }
      #expect(try disk.info(tree) == nil, "round \(round)")
    }
  }

  @Test func `what can be written to is there`() throws {
    try disk.put(directory.path("f"), "abc")
    #expect(disk.isWritable(directory.path) && disk.isWritable(directory.path("f")))
    #expect(!disk.isWritable(directory.path("g")))
    #expect(!disk.isWritable(directory.path("f\0")))
  }

  @Test func `a directory may be reached through a link`() throws {
    try disk.createDirectory(directory.path("real"))
    #expect(unsafe symlink("real", directory.path("link")) == 0)
    try disk.createDirectory(directory.path("link"))
    try disk.createDirectory(directory.path("link/sub"))
    try disk.put(directory.path("link/file"), "abc")
    try disk.syncDirectory(directory.path("link"))
    #expect(try disk.list(directory.path("link")).map(\.name) == ["file", "sub"])
    #expect(try disk.list(directory.path("real")).map(\.name) == ["file", "sub"])
  }

  @Test func `names that are not text are listed and removed`() throws {
    try disk.createDirectory(directory.path("tree"))
    for name in ["tree/\u{FF}a", "tree/\u{80}"] {
      // One byte a character: not UTF-8.
      let bytes = Array(directory.path(name).unicodeScalars.map { UInt8($0.value) }) + [0]
      let path = bytes.map { CChar(bitPattern: $0) }
      let descriptor = unsafe open(path, O_CREAT | O_WRONLY, 0o600)
      #expect(descriptor >= 0)
      close(descriptor)
    }
    try disk.put(directory.path("tree/z"), "")
    let names = try disk.list(directory.path("tree")).map(\.name)
    #expect(names == ["z", "\u{FFFD}", "\u{FFFD}a"])
    disk.fails(.notFound) { _ = try $0.open(directory.path("tree/\u{FFFD}"), .read) }
    try disk.removeTree(directory.path("tree"))
    #expect(try disk.list(directory.path).isEmpty)
  }

  @Test func `a directory of many files is listed and removed whole`() throws {
    try disk.createDirectory(directory.path("tree"))
    let names = (1000..<4000).map { "\($0)-a-name-of-some-length" }
    for name in names { try disk.put(directory.path("tree/" + name), "") }
    #expect(try disk.list(directory.path("tree")).map(\.name) == names)
    try disk.removeTree(directory.path("tree"))
    #expect(try disk.list(directory.path).isEmpty)
  }

  @Test func `a tree that is too deep is refused`() throws {
    let deep = directory.path("t") + String(repeating: "/d", count: 140)
    try disk.createDirectory(deep)
    disk.fails(.io(errno: ENAMETOOLONG)) { try $0.removeTree(directory.path("t")) }
    #expect(try disk.info(deep)?.kind == .directory)
    // From half way down it is not.
    let half = directory.path("t") + String(repeating: "/d", count: 70)
    try disk.removeTree(half)
    try disk.removeTree(directory.path("t"))
    #expect(try disk.list(directory.path).isEmpty)
  }

  @Test(arguments: [
    (-2, 500_000_000, -1500), (0, 999_999, 0), (1_700_000_000, 123_456_789, 1_700_000_000_123),
  ])
  func `times are milliseconds since 1970`(seconds: Int, nanoseconds: Int, expected: Int64) throws {
    let path = directory.path("f")
    try disk.put(path, "")
    let time = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
    #expect(unsafe utimensat(AT_FDCWD, path, [time, time], 0) == 0)
    #expect(try disk.info(path)?.modified == expected)
  }

  @Test(arguments: [Int.max, Int.min])
  func `a time from no possible year is survived`(seconds: Int) throws {
    // Some file systems keep it as it is, some move it into their range.
    let path = "/dev/shm/cairn-test-\(getpid())-\(seconds)"
    guard let file = try? disk.open(path, .create) else { return }
    defer { try? disk.remove(path) }
    file.close()
    let time = timespec(tv_sec: seconds, tv_nsec: 999_999_999)
    #expect(unsafe utimensat(AT_FDCWD, path, [time, time], 0) == 0)
    let modified = try #require(try disk.info(path)?.modified)
    #expect((modified > 0) == (seconds > 0))
  }

  @Test func `what may not be changed is denied`() throws {
    // Nobody makes directories or files there, root neither.
    disk.fails(.denied) { try $0.createDirectory("/sys/cairn") }
    disk.fails(.denied) { _ = try $0.open("/sys/cairn", .create) }
    disk.fails(.denied) { _ = try $0.lock("/sys/cairn") }
  }

  @Test func `a name that is too long is refused`() throws {
    let path = directory.path(String(repeating: "x", count: 300))
    disk.fails(.io(errno: ENAMETOOLONG)) { _ = try $0.open(path, .create) }
    disk.fails(.io(errno: ENAMETOOLONG)) { _ = try $0.info(path) }
  }
}
