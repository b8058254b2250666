package import CairnLog

/// Why a store refused, in terms of what was asked of it.
package struct StoreError: Error, Sendable {
  package enum Kind: Equatable, Sendable {
    case closed, shutdown, sizeLimit, badType, badIndex, illegalArgument, notFound, exists
    case deleted, readOnly, alreadyOpen, invalidOperation, syncFailed
    /// The user's role does not allow it.
    case disallowed
    /// Something is wrong with the files; `log` says what.
    case log
  }

  package var kind: Kind
  package var message: String
  package var log: LogError?
  /// The id that it is about, if it is about one.
  package var id: String?

  package init(_ kind: Kind, _ message: String, id: String? = nil) {
    self.kind = kind
    self.message = message
    self.id = id
  }

  package init(_ error: LogError) {
    kind = .log
    message = "\(error)"
    log = error
  }
}
