/// One JSON text as a value. Integers stay exact, and an object keeps the order it was written in.
package enum JSON {
  case null
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case string(String)
  case array([JSON])
  case object([Member])

  package struct Member {
    package var name: String
    package var value: JSON
    /// Where the value begins in the bytes it was read from.
    package var offset: Int

    package init(name: String, value: JSON, offset: Int = 0) {
      self.name = name
      self.value = value
      self.offset = offset
    }
  }

  /// What an error message calls a value of this kind.
  package var kind: String {
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
  package init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(elements.map { Member(name: $0, value: $1) })
  }

  package init(arrayLiteral elements: JSON...) {
    self = .array(elements)
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int64) { self = .int(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSON {
  /// Counters; one that doesn't fit (none does that on a real machine) becomes a double.
  package static func count(_ value: some BinaryInteger) -> JSON {
    Int64(exactly: value).map(JSON.int) ?? .double(Double(value))
  }

  package static func optional(_ text: String?) -> JSON {
    text.map(JSON.string) ?? .null
  }

  /// This object with more members at its end; anything else stays as it is.
  package func adding(_ name: String, _ value: JSON) -> JSON {
    guard case .object(let members) = self else { return self }
    return .object(members + [Member(name: name, value: value)])
  }
}
