extension String {
  /// The text with its control characters as JSON escapes them, but for line ends and tabs:
  /// whatever a value of others says, it drives no terminal.
  package var harmless: String {
    guard unicodeScalars.contains(where: \.isHarmful) else { return self }
    var result = ""
    for scalar in unicodeScalars {
      if scalar.isHarmful {
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

extension Unicode.Scalar {
  fileprivate var isHarmful: Bool {
    switch self {
    case "\n", "\t": false
    case "\u{0}"..<"\u{20}", "\u{7F}"..."\u{9F}": true
    default: false
    }
  }
}
