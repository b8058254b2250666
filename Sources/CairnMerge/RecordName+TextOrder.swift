extension RecordName {
  /// Order of the ids' texts, by UTF-8 bytes: the one that people see.
  package func textPrecedes(_ other: RecordName) -> Bool {
    let (mine, theirs) = (textPrefix, other.textPrefix)
    if mine != theirs { return mine < theirs }
    return self != other && text.utf8.lexicographicallyPrecedes(other.text.utf8)
  }

  /// The first eight bytes of the text, the first one highest; zeros behind a shorter one. Decides
  /// nearly always, without making the text.
  package var textPrefix: UInt64 {
    switch self {
    case .packed(let high, _): Base64ID.prefix(high)
    case .text(let text): text.utf8.prefix(8).reduce((UInt64(0), UInt64(56))) { sum, byte in
      (sum.0 | UInt64(byte) << sum.1, sum.1 &- 8)
    }.0
    }
  }
}
