import CairnDisk
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What lies where a file should be: refused, and at once.
@Suite(.timeLimit(.minutes(20)))
struct PosixFileKindTests {
  let directory: TemporaryDirectory
  let disk = PosixDisk()

  init() throws { directory = try TemporaryDirectory() }

  /// Nothing but a regular file can be opened or locked under that name.
  private func refused(_ path: String, whenCreated: DiskError.Reason = .exists) {
    disk.fails(.notRegular) { _ = try $0.open(path, .read) }
    disk.fails(.notRegular) { _ = try $0.open(path, .readWrite) }
    disk.fails(.notRegular) { _ = try $0.lock(path) }
    disk.fails(whenCreated) { _ = try $0.open(path, .create) }
  }

  #if os(Linux)
    /// The memory of this process, where nothing can lie.
    @Test func `what can't be read is an error, and not less`() throws {
      let file = try disk.open("/proc/self/mem", .read)
      let error = #expect(throws: DiskError.self) { try file.read(at: 0, count: 10) }
      #expect(error == DiskError(errno: EIO, operation: "read", path: "/proc/self/mem"))
    }
  #endif

  @Test func `a pipe is refused without waiting for its other end`() throws {
    let path = directory.path("pipe")
    #expect(unsafe mkfifo(path, 0o600) == 0)
    refused(path)
    #expect(try disk.info(path)?.kind == .other)
  }

  @Test func `a link to a file is refused and not followed`() throws {
    try disk.put(directory.path("target"), "abc")
    let path = directory.path("link")
    #expect(unsafe symlink("target", path) == 0)
    refused(path)
    #expect(try disk.info(path)?.kind == .other)
    #expect(try disk.list(directory.path).map(\.info.kind) == [.other, .file])
    try disk.remove(path)
    #expect(try disk.text(directory.path("target")) == "abc")
  }

  @Test func `a link to nowhere is refused and nothing is made there`() throws {
    let path = directory.path("link")
    #expect(unsafe symlink(directory.path("target"), path) == 0)
    refused(path)
    disk.fails(.exists) { try $0.createDirectory(path) }
    #expect(try disk.info(directory.path("target")) == nil)
  }

  @Test func `a device is refused`() throws {
    refused("/dev/null")
    #expect(try disk.info("/dev/null")?.kind == .other)
  }

  @Test func `a socket is refused`() throws {
    let path = directory.path("socket")
    let socket = try UnixSocket(path)
    refused(path)
    #expect(try disk.info(path)?.kind == .other)
    socket.end()
  }
}

/// A socket with a name.
private struct UnixSocket {
  private let descriptor: Int32

  init(_ path: String) throws {
    #if canImport(Darwin)
      descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #else
      descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, size)
      }
    }
    try #require(result == 0)
  }

  func end() { close(descriptor) }
}
