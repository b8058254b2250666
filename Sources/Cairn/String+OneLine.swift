extension String {
  /// A text of others as it stands in the middle of a message: what it says begins no line of its
  /// own there, which might be taken for ours.
  package var onOneLine: String {
    guard unicodeScalars.contains(where: \.endsLine) else { return self }
    var result = ""
    for scalar in unicodeScalars {
      if scalar.endsLine { result += " " } else { result.unicodeScalars.append(scalar) }
    }
    return result
  }
}

extension Unicode.Scalar {
  fileprivate var endsLine: Bool {
    switch self {
    case "\n"..."\r", "\u{85}", "\u{2028}", "\u{2029}": true
    default: false
    }
  }
}
