internal import CairnMerge

/// The keyed container of a record: every key is a field.
struct FieldsWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: RecordEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }

  private func put(_ key: Key, _ value: FieldValue?) throws {
    try encoder.put(key.stringValue, value)
  }

  func encodeNil(forKey key: Key) throws { try put(key, nil) }
  func encode(_ value: Bool, forKey key: Key) throws { try put(key, .bool(value)) }
  func encode(_ value: String, forKey key: Key) throws { try put(key, .string(value)) }

  func encode(_ value: Double, forKey key: Key) throws {
    encoder.markDouble(key.stringValue)
    try put(key, .double(value))
  }

  func encode(_ value: Float, forKey key: Key) throws {
    encoder.markFloat(key.stringValue)
    try put(key, .double(Double(value)))
  }

  // These two have a default, which would come before the general one.
  func encode(_ value: Int128, forKey key: Key) throws { try putInteger(value, key) }
  func encode(_ value: UInt128, forKey key: Key) throws { try putInteger(value, key) }

  func encode<T: FixedWidthInteger & Encodable>(_ value: T, forKey key: Key) throws {
    try putInteger(value, key)
  }

  private func putInteger(_ value: some FixedWidthInteger, _ key: Key) throws {
    guard let integer = Int64(exactly: value) else {
      throw encoder.place(key.stringValue).outOfRange(value)
    }
    try put(key, .int(integer))
  }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    let encoded = try encoded(value, key)
    if case .list? = encoded, ValueKind.of(T.self).isList { encoder.markList(key.stringValue) }
    try put(key, encoded)
  }

  private func encoded<T: Encodable>(_ value: T, _ key: Key) throws -> FieldValue? {
    if let problem = encoder.problem { throw problem }
    return try ValueEncoder.encoded(value, root: encoder, field: key.stringValue)
  }

  // An absent value removes the field, so that it must not go unsaid.

  func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try putAny(value, key) }
  func encodeIfPresent(_ value: String?, forKey key: Key) throws { try putAny(value, key) }

  func encodeIfPresent(_ value: Double?, forKey key: Key) throws {
    if value != nil { encoder.markDouble(key.stringValue) }
    try putAny(value, key)
  }

  func encodeIfPresent(_ value: Float?, forKey key: Key) throws {
    if value != nil { encoder.markFloat(key.stringValue) }
    try putAny(value, key)
  }

  func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try putAny(value, key) }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try putAny(value, key) }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try putAny(value, key) }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try putAny(value, key) }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try putAny(value, key) }
  func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { try putAny(value, key) }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try putAny(value, key) }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try putAny(value, key) }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try putAny(value, key) }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try putAny(value, key) }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try putAny(value, key) }
  func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { try putAny(value, key) }

  func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws {
    guard let value else { return try put(key, nil) }
    // Not as an array that is always there: nil and empty are two values of an optional one.
    try put(key, try encoded(value, key))
  }

  private func putAny(_ value: Bool?, _ key: Key) throws {
    try put(key, value.map(FieldValue.bool))
  }

  private func putAny(_ value: String?, _ key: Key) throws {
    try put(key, value.map(FieldValue.string))
  }

  private func putAny<T: BinaryFloatingPoint>(_ value: T?, _ key: Key) throws {
    try put(key, value.map { .double(Double($0)) })
  }

  private func putAny<T: FixedWidthInteger & Encodable>(_ value: T?, _ key: Key) throws {
    guard let value else { return try put(key, nil) }
    try putInteger(value, key)
  }

  // MARK: what a record has no place for

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    let problem = encoder.place(key.stringValue).nestedContainer
    return encoder.refused(problem, field: key.stringValue).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder.refused(encoder.place(key.stringValue).nestedContainer, field: key.stringValue)
  }

  func superEncoder() -> any Encoder { encoder.refused(encoder.place.superclass) }

  func superEncoder(forKey key: Key) -> any Encoder { superEncoder() }
}

extension FieldPlace {
  func outOfRange(_ value: some FixedWidthInteger) -> CairnError {
    error(
      .badType, "\(value) is out of range: integers are kept as 64 bits with a sign; use text or "
        + "bytes")
  }
}
