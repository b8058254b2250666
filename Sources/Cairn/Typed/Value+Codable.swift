/// Properties of a model may be values of any type; elsewhere a value is kept as one key, its type,
/// so that no type gets lost: `{"int": 1}`, `{"double": 1}`, `{"date": 1700000000000}`.
extension Value: Codable {
  private enum CodingKeys: String, CodingKey {
    case bool, int, double, string, bytes, date, list, attachment
  }

  /// Writes the value as it is into a record, and with its type elsewhere.
  public func encode(to encoder: any Encoder) throws {
    if let encoder = encoder as? ValueEncoder { return try encoder.put(stored) }
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .bool(let value): try container.encode(value, forKey: .bool)
    case .int(let value): try container.encode(value, forKey: .int)
    case .double(let value): try container.encode(value, forKey: .double)
    case .string(let value): try container.encode(value, forKey: .string)
    case .bytes(let value): try container.encode(value, forKey: .bytes)
    case .date(let value): try container.encode(value, forKey: .date)
    case .list(let items): try container.encode(items, forKey: .list)
    case .attachment(let id): try container.encode(id, forKey: .attachment)
    }
  }

  /// Reads what `encode(to:)` wrote. Throws a `DecodingError` for anything else.
  public init(from decoder: any Decoder) throws {
    if let value = (decoder as? ValueDecoder)?.value {
      self.init(value)
      return
    }
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard let key = container.allKeys.first, container.allKeys.count == 1 else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: decoder.codingPath, debugDescription: "a value has one key, its type"))
    }
    switch key {
    case .bool: self = .bool(try container.decode(Bool.self, forKey: key))
    case .int: self = .int(try container.decode(Int64.self, forKey: key))
    case .double: self = .double(try container.decode(Double.self, forKey: key))
    case .string: self = .string(try container.decode(String.self, forKey: key))
    case .bytes: self = .bytes(try container.decode([UInt8].self, forKey: key))
    case .date: self = .date(try container.decode(Timestamp.self, forKey: key))
    case .list: self = .list(try container.decode([Value].self, forKey: key))
    case .attachment:
      self = .attachment(try container.decode(AttachmentID.self, forKey: key))
    }
  }
}
