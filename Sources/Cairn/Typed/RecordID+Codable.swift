/// Text, in records and elsewhere.
extension RecordID: Codable {
  /// Writes the text of the id.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  /// Reads the text of an id. It need not be valid: that is checked where it is used.
  public init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(String.self))
  }
}
