internal import CairnStore

/// What somebody may do in a datastore. The numbers are those that are stored.
@nonexhaustive
public enum Role: Int64, Hashable, Comparable, CaseIterable, Sendable {
  /// Not write; no more. Somebody who knows the id and has the folder may still open the datastore,
  /// read it, `sync()` and exchange, as a viewer may: without a server nothing could refuse that.
  /// It differs from `viewer` in what the list of roles says, and an app may keep to that.
  case none = 0
  /// Read.
  case viewer = 1000
  /// Read and change all of it, the roles of others included, but not those of owners.
  case editor = 2000
  /// The same, and for good: who created it.
  case owner = 3000

  /// The highest role that a number reaches; numbers between two roles round down.
  public init(rounding number: Int64) { self.init(AccessLevel(rounding: number)) }

  init(_ level: AccessLevel) {
    switch level {
    case .none: self = .none
    case .viewer: self = .viewer
    case .editor: self = .editor
    case .owner: self = .owner
    }
  }

  var level: AccessLevel { AccessLevel(rounding: rawValue) }

  /// By what they allow.
  public static func < (a: Role, b: Role) -> Bool { a.rawValue < b.rawValue }
}
