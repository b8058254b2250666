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

  /// What a value has inside that it can make a list of.
  enum Content {
    /// A list, as property wrappers have one; or what can't be looked into.
    case list
    /// Keys and values, and no list.
    case pairs
    /// Numbers and texts, or the bounds of a range.
    case nothing
  }

  /// What a value that encodes as a list stands for.
  static func content(of value: Any, depth: Int = 8) -> Content {
    // Text is a collection, and so is a range: neither is a list of anything.
    if value is any StringProtocol || value is any RangeExpression { return .nothing }
    if value is any BinaryInteger || value is any BinaryFloatingPoint || value is any SIMD {
      return .nothing
    }
    let valueType = type(of: value)
    switch of(valueType) {
    case .list, .set: return .list
    case .dictionary: return .pairs
    case .date, .data: return .nothing
    case .plain: break
    }
    // Into an object nobody looks: its own lock may guard what it has.
    if valueType is AnyClass { return .list }
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .dictionary { return .pairs }
    // Few are wrapped so often, and what has itself inside would have no end.
    if value is any Sequence || depth == 0 { return .list }
    var result = Content.nothing
    for child in mirror.children {
      switch content(of: child.value, depth: depth - 1) {
      case .list: return .list
      case .pairs: result = .pairs
      case .nothing: break
      }
    }
    return result
  }

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
