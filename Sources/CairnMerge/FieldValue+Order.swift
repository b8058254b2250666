/// The order that the rules `min` and `max` go by.
extension FieldValue {
  /// -1, 0 or 1; nil is an absent field.
  ///
  /// Absent < bool < number < date < string < bytes < list. Int and double are one kind, compared
  /// exactly. Strings go by their UTF-8 bytes, lists item by item, a shorter prefix first.
  package static func ordered(_ a: FieldValue?, _ b: FieldValue?) -> Int {
    switch (a, b) {
    case (.bool(let a)?, .bool(let b)?): compare(a ? 1 : 0, b ? 1 : 0)
    case (.int(let a)?, .int(let b)?), (.date(let a)?, .date(let b)?): compare(a, b)
    case (.double(let a)?, .double(let b)?): compare(a, b)
    case (.int(let a)?, .double(let b)?): compare(a, b)
    case (.double(let a)?, .int(let b)?): -compare(b, a)
    case (.string(let a)?, .string(let b)?): compare(a.utf8, b.utf8)
    case (.bytes(let a)?, .bytes(let b)?): compare(a, b)
    case (.list(let a)?, .list(let b)?): compare(a, b)
    default: compare(rank(a), rank(b))
    }
  }

  /// Whether both are of one kind: the same type, or two numbers.
  package static func isSameKind(_ a: FieldValue, _ b: FieldValue) -> Bool { rank(a) == rank(b) }

  private static func rank(_ value: FieldValue?) -> Int {
    switch value {
    case nil: 0
    case .bool: 1
    case .int, .double: 2
    case .date: 3
    case .string: 4
    case .bytes: 5
    case .list: 6
    }
  }

  private static func compare<T: BinaryInteger>(_ a: T, _ b: T) -> Int {
    a < b ? -1 : a == b ? 0 : 1
  }

  /// NaN equals NaN and is below everything else; -0.0 equals 0.0.
  private static func compare(_ a: Double, _ b: Double) -> Int {
    if a.isNaN || b.isNaN { return compare(a.isNaN ? 0 : 1, b.isNaN ? 0 : 1) }
    return a < b ? -1 : a == b ? 0 : 1
  }

  /// Compares without rounding the integer: 2^53 + 1 and 2^53 as a double are not equal.
  private static func compare(_ a: Int64, _ b: Double) -> Int {
    if b.isNaN { return 1 }
    if b >= 0x1p63 { return -1 }
    if b < -0x1p63 { return 1 }
    let whole = b.rounded(.towardZero)
    let byWhole = compare(a, Int64(whole))
    return byWhole != 0 ? byWhole : -compare(b - whole, 0.0)
  }

  private static func compare(_ a: some Sequence<UInt8>, _ b: some Sequence<UInt8>) -> Int {
    var rest = b.makeIterator()
    for x in a {
      guard let y = rest.next() else { return 1 }
      if x != y { return x < y ? -1 : 1 }
    }
    return rest.next() == nil ? 0 : -1
  }

  private static func compare(_ a: [FieldValue], _ b: [FieldValue]) -> Int {
    for (x, y) in zip(a, b) {
      let order = ordered(x, y)
      if order != 0 { return order }
    }
    return compare(a.count, b.count)
  }
}
