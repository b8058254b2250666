import CairnDisk
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Looking at the real disk without touching it.
struct PosixProbingTests {
  private let directory: TemporaryDirectory
  private let disk = PosixDisk()

  init() throws { directory = try TemporaryDirectory() }

  @Test func `free bytes are those of the path as it is, not of what is before a zero`() throws {
    #expect(try disk.freeBytes(directory.path) != nil)
    disk.fails(.io(errno: EINVAL)) { _ = try $0.freeBytes(directory.path + "\0.seg") }
    disk.fails(.notFound) { _ = try $0.freeBytes(directory.path("no")) }
  }

  #if os(Linux)
    /// As of many file systems in user space: nothing in all, and so nothing free.
    @Test func `what counts no bytes does not say that none is free`() throws {
      #expect(try disk.freeBytes("/proc") == nil)
    }
  #endif

  @Test func `a lock is asked for at the path as it is, not at what is before a zero`() throws {
    let path = directory.path("LOCK")
    let lock = try disk.lock(path)
    defer { lock.unlock() }
    #expect(try disk.lockHolder(path) == "by this very process")
    disk.fails(.io(errno: EINVAL)) { _ = try $0.lockHolder(path + "\0") }
    #expect(try disk.lockHolder(directory.path("no")) == nil)
    #expect(try disk.list(directory.path).map(\.name) == ["LOCK"])
  }
}
