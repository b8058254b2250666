package import CairnDisk
internal import CairnLog
internal import CairnStore

/// The one error of this library. The message says what happened, where, and what to do.
public struct CairnError: Error, Hashable, Sendable {
  /// What kind of error it is: programming errors first, then failures that a right program meets.
  @nonexhaustive
  public enum Code: String, Hashable, Sendable {
    // Programming errors: the call itself is wrong.
    case closed, deleted, shutdown, badType, badIndex, illegalArgument, sizeLimit
    case invalidOperation
    // Failures that a right program meets, too. `cache` and `notCached` are the original's: nothing
    // here throws them.
    case `internal`, cache, memory, system, notCached, notFound, exists, alreadyOpen, parent
    case diskSpace, disallowed, fileIO, cancelled, readOnly, network, timeout, noConnection, ssl
    case server, auth, quota, request, response, retryLater
    /// Bytes on the disk or in the folder are damaged.
    case corrupt
    /// A file was written by a newer version that older ones must not read.
    case needsNewerVersion
    /// The disk failed to make a commit durable; the datastore has to be opened anew.
    case syncFailed
  }

  /// What kind of error it is.
  public var code: Code
  /// What happened, where, and what to do: for people.
  public var message: String
  /// The file that it is about, if it is about one.
  public var file: String?
  /// Where in the file, in bytes.
  public var offset: UInt64?
  /// The id (of a datastore, table, record or field) that it is about, if it is about one.
  public var id: String?

  /// An error with its place, as far as that is known.
  public init(
    _ code: Code, _ message: String, file: String? = nil, offset: UInt64? = nil, id: String? = nil
  ) {
    self.code = code
    self.message = message
    self.file = file
    self.offset = offset
    self.id = id
  }

  /// Whether the call was wrong (or a limit was hit), rather than something in the world around it.
  public var isProgrammingError: Bool {
    switch code {
    case .closed, .deleted, .shutdown, .badType, .badIndex, .illegalArgument, .sizeLimit,
      .invalidOperation:
      true
    default: false
    }
  }
}

extension CairnError: CustomStringConvertible {
  public var description: String { "\(code.rawValue): \(message)" }
}

extension CairnError {
  init(_ error: StoreError) {
    if let log = error.log, error.kind != .syncFailed {
      self.init(log)
      return
    }
    self.init(
      CairnError.code(error.kind), error.message, file: error.log?.path,
      offset: error.log?.offset, id: error.id)
  }

  private static func code(_ kind: StoreError.Kind) -> Code {
    switch kind {
    case .closed: .closed
    case .shutdown: .shutdown
    case .sizeLimit: .sizeLimit
    case .badType: .badType
    case .badIndex: .badIndex
    case .illegalArgument: .illegalArgument
    case .notFound: .notFound
    case .exists: .exists
    case .deleted: .deleted
    case .readOnly: .readOnly
    case .alreadyOpen: .alreadyOpen
    case .invalidOperation: .invalidOperation
    case .disallowed: .disallowed
    case .syncFailed: .syncFailed
    case .log: .internal
    }
  }

  init(_ error: LogError) {
    let code: Code
    switch error.reason {
    case .disk(let disk):
      self.init(disk)
      return
    case .corrupt, .truncated, .foreign, .limit, .missing: code = .corrupt
    case .needsNewerVersion: code = .needsNewerVersion
    case .poisoned: code = .syncFailed
    }
    self.init(code, error.description, file: error.path, offset: error.offset)
  }

  /// The public form of what a disk says.
  package init(_ error: DiskError) {
    let code: Code
    switch error.reason {
    case .notFound: code = .notFound
    case .exists: code = .exists
    // EFBIG: there is no room for a file as large.
    case .noSpace, .io(errno: 27): code = .diskSpace
    case .readOnly, .denied: code = .readOnly
    case .withheld: code = .retryLater
    case .exposed: code = .disallowed
    case .locked: code = .alreadyOpen
    // ENOMEM.
    case .io(errno: 12): code = .memory
    case .notRegular, .io: code = .fileIO
    case .tooManyOpen: code = .system
    }
    self.init(code, error.description, file: error.path)
  }
}
