/// What the rule `sum` can add up.
package enum Number: Sendable {
  case int(Int64)
  case double(Double)

  package static let zero = Number.int(0)

  /// Nil for everything that is not a finite number: NaN and infinities swallow all that is added
  /// to them, so they compete like any other value.
  package init?(_ value: FieldValue) {
    switch value {
    case .int(let value): self = .int(value)
    case .double(let value) where value.isFinite: self = .double(value)
    default: return nil
    }
  }

  package var value: FieldValue {
    switch self {
    case .int(let value): .int(value)
    case .double(let value): .double(value)
    }
  }

  package var isFinite: Bool {
    switch self {
    case .int: true
    case .double(let value): value.isFinite
    }
  }

  /// Integers wrap modulo 2^64; one double makes the result a double.
  package func adding(_ other: Number) -> Number {
    switch (self, other) {
    case (.int(let a), .int(let b)): .int(a &+ b)
    default: .double(asDouble + other.asDouble)
    }
  }

  /// As `adding`.
  package func subtracting(_ other: Number) -> Number {
    switch (self, other) {
    case (.int(let a), .int(let b)): .int(a &- b)
    default: .double(asDouble - other.asDouble)
    }
  }

  private var asDouble: Double {
    switch self {
    case .int(let value): Double(value)
    case .double(let value): value
    }
  }
}

extension Number: Hashable {
  package static func == (a: Number, b: Number) -> Bool { a.value == b.value }
  package func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
