#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

extension FileInfo {
  init(_ status: stat) {
    let kind: Kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .directory
      default: .other
      }
    self.init(
      kind: kind, size: UInt64(clamping: status.st_size),
      modified: FileInfo.milliseconds(Platform.modified(status)), inode: UInt64(status.st_ino))
  }

  /// Stays within the type: a file may claim to be from any year.
  static func milliseconds(_ time: timespec) -> Int64 {
    let seconds = Int64(time.tv_sec).multipliedReportingOverflow(by: 1000)
    if seconds.overflow { return time.tv_sec < 0 ? .min : .max }
    let sum = seconds.partialValue.addingReportingOverflow(Int64(time.tv_nsec) / 1_000_000)
    return sum.overflow ? .max : sum.partialValue
  }
}
