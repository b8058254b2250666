package import Cairn

/// The type of a value that is written without quotes, in a CSV cell and on the command line.
package enum ScalarText {
  /// true and false are booleans, what JSON calls a number is an int or a double, the rest is a
  /// string. A number that fits no type (beyond 64 bits, beyond a double) stays a string too, with
  /// all of its digits.
  package static func value(_ text: String) -> Value {
    switch text {
    case "true": return .bool(true)
    case "false": return .bool(false)
    default: break
    }
    let bytes = Array(text.utf8)
    guard let shape = NumberShape(bytes[...]), shape.length == bytes.count else {
      return .string(text)
    }
    if shape.isInteger { return Int64(text).map(Value.int) ?? .string(text) }
    guard let double = Double(text), double.isFinite else { return .string(text) }
    return .double(double)
  }
}
