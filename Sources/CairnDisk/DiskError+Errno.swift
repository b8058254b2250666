#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

extension DiskError {
  /// The error of a system call that failed with `code`.
  package init(errno code: Int32, operation: String, path: String) {
    self.init(reason: Reason(errno: code), operation: operation, path: path)
  }

  /// Somebody else has closed the file meanwhile.
  package var isOfClosedFile: Bool { reason == .io(errno: EBADF) }

  static func text(of code: Int32) -> String {
    // Whatever the number, there is a text.
    unsafe String(cString: strerror(code))
  }
}

extension DiskError.Reason {
  package init(errno code: Int32) {
    self =
      switch code {
      case ENOENT: .notFound
      case EEXIST: .exists
      case ENOSPC, EDQUOT: .noSpace
      case EROFS: .readOnly
      case EACCES: .denied
      case EPERM: Platform.notPermitted
      // A link (ELOOP, because of O_NOFOLLOW), a socket or a pipe without a reader (ENXIO).
      case ELOOP, EISDIR, ENOTDIR, ENXIO: .notRegular
      case EMFILE, ENFILE: .tooManyOpen
      default: .io(errno: code)
      }
  }
}
