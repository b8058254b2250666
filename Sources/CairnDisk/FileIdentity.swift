#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Which file it is, whatever path led to it.
struct FileIdentity: Hashable, Sendable {
  var device: UInt64
  var inode: UInt64

  init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(status.st_ino)
  }
}
