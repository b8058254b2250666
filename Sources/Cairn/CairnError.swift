package import CairnDisk
internal import CairnLog
internal import CairnStore

/// The one error of this library. The message says what happened, where, and what to do.
public struct CairnError: Error, Hashable, Sendable {
  /// What kind of error it is, and what to do about it. Rounds in the background try again by
  /// themselves, ever more seldom; where it says *again* the app need not do anything there, and
  /// elsewhere makes the same call once more later.
  @nonexhaustive
  public enum Code: String, Hashable, Sendable {
    // MARK: the call is wrong, or a limit was hit

    /// The datastore was closed. A mistake of the app, or its work outlived the datastore: stop it.
    case closed
    /// There is no item at that index of a list. A mistake of the app: look at the list anew.
    case badIndex
    /// A name, id or number that can't be. A mistake of the app.
    case illegalArgument
    /// A limit of ``Limits``, or of the format. Ask the user to make room, or write less at once.
    case sizeLimit
    /// Not with this datastore, or not now; the message says what comes first. A mistake of the
    /// app.
    case invalidOperation

    // MARK: what other devices, processes and versions of the app have done

    /// The record, or the whole datastore, was deleted, by another device perhaps. Give that work
    /// up; close the datastore if `status.needsReset` is set.
    case deleted
    /// What is there, or is to be written, has another type than the call needs: another version of
    /// the app may have written it. Leave the record out; a mistake of the app where it writes.
    case badType
    /// The manager was shut down, or its account unlinked, maybe elsewhere. Make a new one.
    case shutdown
    /// There is a record of that id already, or the place of a datastore is taken. Use what is
    /// there.
    case exists
    /// It is not there: a datastore, a content, the folder. If the folder is missing, have the user
    /// see to it; again.
    case notFound
    /// The datastore is open, here or in another process, or its root is in use. Again, when that
    /// has ended.
    case alreadyOpen
    /// Not for this user, not by this app's policy, or not in this folder, which is another one
    /// than before. Ask the user; nothing was changed.
    case disallowed
    /// Nothing can be written: no right to, a disk that is read-only, or a datastore that is only
    /// followed. Ask the user for the right, or don't offer it.
    case readOnly
    /// The root and the folder lie inside one another. A mistake of the app, or ask the user for
    /// another folder.
    case parent

    // MARK: the disk and the system

    /// The disk is full. Ask the user to make room; again. What was to be committed is still there.
    case diskSpace
    /// The disk failed. Again; if it stays, the device may be at its end.
    case fileIO
    /// The disk failed to make a commit durable; close the datastore and open it anew.
    case syncFailed
    /// Bytes on the disk or in the folder are damaged. Nothing goes by them. Repair the datastore
    /// (``DatastoreManager/repairDatastore(_:dryRun:usingFolder:)``), or fetch the content again.
    case corrupt
    /// A file was written by a newer version that older ones must not read. Have the user update
    /// the app.
    case needsNewerVersion
    /// There is no memory left. Again, with less at once.
    case memory
    /// The system refuses: too many files are open. Close datastores, or raise the limit.
    case system
    /// Nobody expected it. Report it.
    case `internal`
    /// The task was cancelled, or what it waited for has ended. Nothing to do.
    case cancelled

    // MARK: the folder and its server

    /// Nothing can be told just now: somebody else is at it, files are withheld while the device is
    /// locked, a server asks for patience. Again.
    case retryLater
    /// No server could be reached. Again, when there is a network.
    case noConnection
    /// The connection broke off. Again.
    case network
    /// Nothing moved for too long. Again.
    case timeout
    /// No secure connection: the server's certificate is not trusted. Ask the user for the right
    /// address, or for the certificates.
    case ssl
    /// The server refuses the credentials, or what they allow is not enough. Ask the user to sign
    /// in.
    case auth
    /// The server has no room left, or an hour's budget is used up (``ServerSettings``). Ask the
    /// user to make room in the first case; again.
    case quota
    /// The server fails, or can't do what is asked. Again; if it stays, the address may be wrong.
    case server
    /// The server did not understand. Report it; the address may be of another kind of server.
    case request
    /// The server's answer makes no sense. Again; if it stays, something between may answer for it.
    case response

    // MARK: the original's, which nothing here throws

    /// Never thrown.
    case cache
    /// Never thrown.
    case notCached
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
  ///
  /// Not so for `deleted`, `badType` and `shutdown`: a right program meets these, too, when another
  /// device deletes the record that it is about to change, another version of the app has written
  /// the field, or another process has unlinked the account.
  public var isProgrammingError: Bool {
    switch code {
    case .closed, .badIndex, .illegalArgument, .sizeLimit, .invalidOperation: true
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
