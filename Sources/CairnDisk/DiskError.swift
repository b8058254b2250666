/// Why a disk did not do what it was asked: what, where, and what to do about it.
package struct DiskError: Error, Equatable, Sendable {
  package enum Reason: Equatable, Sendable {
    case notFound
    case exists
    /// The disk or the user's quota is full.
    case noSpace
    /// The file system is mounted read-only.
    case readOnly
    case denied
    /// The system keeps it back for now, whatever its mode: on Apple's systems while the device is
    /// locked, or from an app that has no access to the place.
    case withheld
    case locked
    /// A file of secrets that others may read.
    case exposed
    /// What is there is of another kind than the call works on: a link, a pipe, a directory,
    /// a file.
    case notRegular
    case tooManyOpen
    case io(errno: Int32)
  }

  package var reason: Reason
  /// The verb: "open", "write", "sync" …
  package var operation: String
  package var path: String
  /// More about this one case, as the process that holds a lock; often empty.
  package var detail: String

  package init(reason: Reason, operation: String, path: String, detail: String = "") {
    self.reason = reason
    self.operation = operation
    self.path = path
    self.detail = detail
  }
}

extension DiskError: CustomStringConvertible {
  package var description: String {
    let more = detail.isEmpty ? "" : " (\(detail))"
    return "could not \(operation) \"\(path)\": \(reason.cause)\(more); \(reason.advice)"
  }
}

extension DiskError.Reason {
  var cause: String {
    switch self {
    case .notFound: "there is no such file or directory"
    case .exists: "something of that name is there already"
    case .noSpace: "the disk or the quota is full"
    case .readOnly: "the file system is read-only"
    case .denied: "permission denied"
    case .withheld: "the system does not allow it now"
    case .locked: "it is in use"
    case .exposed: "it holds secrets, and others may read it"
    case .notRegular: "it is not the kind of file that belongs there, and links are not followed"
    case .tooManyOpen: "too many files are open"
    case .io(let code): "\(DiskError.text(of: code)) (errno \(code))"
    }
  }

  var advice: String {
    switch self {
    case .notFound: "check the path"
    case .exists: "move it away or choose another name"
    case .noSpace: "free some space and try again"
    case .readOnly: "mount it for writing or choose another place"
    case .denied: "check the owner and the mode of it and of the directories above it"
    case .withheld:
      "try again when the device is unlocked; if it is not locked, give the app access to the place"
    case .locked: "close it where it is open and try again"
    case .exposed: "replace the secrets, and let nobody but its owner read it (chmod 600)"
    case .notRegular: "move away what is there and try again"
    case .tooManyOpen: "close some, or raise the limit (ulimit -n, or setrlimit in an app)"
    // EFBIG.
    case .io(errno: 27):
      "the file would be larger than the file system or a limit (ulimit -f) allows: raise that, or "
        + "choose another place"
    case .io: "check the disk and the system's log"
    }
  }
}
