import CairnMerge

/// The integers, and the doubles by their words, between two numbers.
struct NumberBounds {
  /// Nil if no integer is among them.
  var ints: ClosedRange<Int64>? = .min ... .max
  /// Nil if no double is among them.
  var doubles: ClosedRange<UInt64>? = 0 ... .max

  init() {}

  /// Everything from a number on.
  init(from bound: FieldValue, isIncluded: Bool) {
    let key = NumberBounds.key(bound)
    let fits = isIncluded ? key.rest <= 0 : key.rest < 0
    doubles = fits ? key.word ... .max : key.word == .max ? nil : (key.word + 1) ... .max
    switch bound {
    case .int(let value):
      ints = isIncluded ? value ... .max : value == .max ? nil : (value + 1) ... .max
    case .double(let value) where !value.isNaN:
      let whole = value.rounded(.up)
      if whole >= 0x1p63 {
        ints = nil
      } else if whole >= -0x1p63 {
        let first = Int64(whole)
        let skips = !isIncluded && whole == value
        ints = !skips ? first ... .max : first == .max ? nil : (first + 1) ... .max
      }
    default: break
    }
  }

  /// Everything up to a number.
  init(through bound: FieldValue, isIncluded: Bool) {
    let key = NumberBounds.key(bound)
    let fits = isIncluded ? key.rest >= 0 : key.rest > 0
    doubles = fits ? 0...key.word : key.word == 0 ? nil : 0...(key.word - 1)
    switch bound {
    case .int(let value):
      ints = isIncluded ? .min ... value : value == .min ? nil : .min ... (value - 1)
    case .double(let value) where value.isNaN: ints = nil
    case .double(let value):
      let whole = value.rounded(.down)
      if whole < -0x1p63 {
        ints = nil
      } else if whole < 0x1p63 {
        let last = Int64(whole)
        let skips = !isIncluded && whole == value
        ints = !skips ? .min ... last : last == .min ? nil : .min ... (last - 1)
      }
    default: break
    }
  }

  /// What is in both.
  func intersection(_ other: NumberBounds) -> NumberBounds {
    var result = NumberBounds()
    result.ints = NumberBounds.intersection(ints, other.ints)
    result.doubles = NumberBounds.intersection(doubles, other.doubles)
    return result
  }

  private static func intersection<Bound>(
    _ a: ClosedRange<Bound>?, _ b: ClosedRange<Bound>?
  ) -> ClosedRange<Bound>? {
    guard let a, let b, a.overlaps(b) else { return nil }
    return a.clamped(to: b)
  }

  private static func key(_ bound: FieldValue) -> (word: UInt64, rest: Int64) {
    switch bound {
    case .int(let value): NumberWord.of(value)
    case .double(let value): (NumberWord.of(value), 0)
    default: (0, 0)
    }
  }
}
