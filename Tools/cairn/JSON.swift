/// One JSON text as a value. Integers stay exact, and an object keeps the order it was written in.
enum JSON {
  case null
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case string(String)
  case array([JSON])
  case object([Member])

  struct Member {
    var name: String
    var value: JSON
    /// Where the value begins in the bytes it was read from.
    var offset = 0
  }

  /// What an error message calls a value of this kind.
  var kind: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .int, .double: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension JSON: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
  init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(elements.map { Member(name: $0, value: $1) })
  }

  init(arrayLiteral elements: JSON...) {
    self = .array(elements)
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral
{
  init(stringLiteral value: String) { self = .string(value) }
  init(integerLiteral value: Int64) { self = .int(value) }
  init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSON {
  /// Counters; one that doesn't fit (none does that on a real machine) becomes a double.
  static func count(_ value: some BinaryInteger) -> JSON {
    Int64(exactly: value).map(JSON.int) ?? .double(Double(value))
  }

  static func optional(_ text: String?) -> JSON {
    text.map(JSON.string) ?? .null
  }

  /// This object with more members at its end; anything else stays as it is.
  func adding(_ name: String, _ value: JSON) -> JSON {
    guard case .object(let members) = self else { return self }
    return .object(members + [Member(name: name, value: value)])
  }
}
