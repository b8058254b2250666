internal import CairnDisk

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// A real directory of its own under /tmp, which goes with its last reference.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package init() throws {
    var template = Array("/tmp/cairn-test-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else {
      throw DiskError(errno: errno, operation: "make the directory", path: "/tmp")
    }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit {
    // What can't be removed stays in /tmp; there is nobody left to tell.
    try? PosixDisk().removeTree(path)
  }

  /// The path of something in it.
  package func path(_ name: String) -> String { path + "/" + name }
}
