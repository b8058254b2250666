internal import CairnDisk
internal import Synchronization

/// What a type is kept as, where its own coding does not say enough.
enum ValueKind {
  /// As it encodes itself.
  case plain
  /// Foundation's `Date`: seconds since 2001 as a `Double`.
  case date
  /// Foundation's `Data`: one integer a byte.
  case data
  /// An array, or what is like one.
  case list
  /// Encodes in an order that differs from run to run.
  case set
  case dictionary

  /// Whether values of this kind are mostly lists, of which an empty one says no more than none.
  var isList: Bool { self == .list || self == .set }

  private static let known = Lock<[ObjectIdentifier: ValueKind]>([:])

  /// Looked up by type, after the first time for some tens of nanoseconds.
  static func of(_ type: Any.Type) -> ValueKind {
    let id = ObjectIdentifier(type)
    if let found = known.withLock({ $0[id] }) { return found }
    let kind = recognised(type)
    known.withLock { $0[id] = kind }
    return kind
  }

  /// Foundation is not imported here: programs that do without it shall not have to load it. So its
  /// two types are known by their names; on Linux they are in FoundationEssentials.
  private static func recognised(_ type: Any.Type) -> ValueKind {
    if type is any SetAlgebra.Type { return .set }
    let name = String(reflecting: type)
    switch name {
    case "Foundation.Date", "FoundationEssentials.Date": return .date
    case "Foundation.Data", "FoundationEssentials.Data": return .data
    default: break
    }
    if name.hasPrefix("Swift.Dictionary<") { return .dictionary }
    if type is any RangeReplaceableCollection.Type { return .list }
    return .plain
  }
}
