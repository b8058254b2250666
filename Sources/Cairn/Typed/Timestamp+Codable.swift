internal import CairnMerge

/// A date in a record; milliseconds since 1970 elsewhere.
extension Timestamp: Codable {
  /// Writes a date into a record, and one integer elsewhere.
  public func encode(to encoder: any Encoder) throws {
    if let encoder = encoder as? ValueEncoder {
      return try encoder.put(.date(millisecondsSince1970))
    }
    var container = encoder.singleValueContainer()
    try container.encode(millisecondsSince1970)
  }

  /// Reads what `encode(to:)` wrote. Throws a `DecodingError` for anything else.
  public init(from decoder: any Decoder) throws {
    if let decoder = decoder as? ValueDecoder {
      self = try decoder.timestamp()
      return
    }
    self.init(millisecondsSince1970: try decoder.singleValueContainer().decode(Int64.self))
  }
}

extension ValueDecoder {
  fileprivate func timestamp() throws -> Timestamp {
    guard case .date(let milliseconds)? = value else { throw mismatch(Timestamp.self) }
    return Timestamp(millisecondsSince1970: milliseconds)
  }
}
