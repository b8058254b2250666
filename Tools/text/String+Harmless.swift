extension String {
  /// The text with its control characters as JSON escapes them, but for line ends and tabs, and
  /// with those that turn the direction of text: whatever a value of others says, it drives no
  /// terminal, and is read as it stands.
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
    // Marks and turns of direction; ends of lines and paragraphs, which a terminal may obey.
    case "\u{61C}", "\u{200E}", "\u{200F}", "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}": true
    default: false
    }
  }
}
