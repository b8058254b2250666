/// How much somebody may do in a datastore. The numbers are those of the records of `:acl`.
package enum AccessLevel: Int64, Comparable, Sendable {
  case none = 0
  case viewer = 1000
  case editor = 2000
  case owner = 3000

  /// The highest level that a number reaches: unknown ones round down, so that levels may be put
  /// between these later.
  package init(rounding number: Int64) {
    switch number {
    case 3000...: self = .owner
    case 2000...: self = .editor
    case 1000...: self = .viewer
    default: self = .none
    }
  }

  package static func < (a: AccessLevel, b: AccessLevel) -> Bool { a.rawValue < b.rawValue }
}
