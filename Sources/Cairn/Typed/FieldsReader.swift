internal import CairnMerge

/// The keyed container of a record: every key is a field.
struct FieldsReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: RecordDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }
  var allKeys: [Key] { decoder.names.compactMap(Key.init(stringValue:)) }

  func contains(_ key: Key) -> Bool { decoder.value(key.stringValue) != nil }
  func decodeNil(forKey key: Key) throws -> Bool { decoder.value(key.stringValue) == nil }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    if case .bool(let value)? = decoder.value(key.stringValue) { return value }
    throw mismatch(type, key)
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    if case .string(let value)? = decoder.value(key.stringValue) { return value }
    throw mismatch(type, key)
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    if let value = decoder.value(key.stringValue)?.asDouble { return value }
    throw mismatch(type, key)
  }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    if let value = decoder.value(key.stringValue)?.asFloat { return value }
    throw mismatch(type, key)
  }

  // These two have a default, which would come before the general one.
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(type, key) }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(type, key) }

  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try integer(type, key)
  }

  private func integer<T: FixedWidthInteger>(_ type: T.Type, _ key: Key) throws -> T {
    if let value: T = decoder.value(key.stringValue)?.asInteger() { return value }
    throw mismatch(type, key)
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    let field = key.stringValue
    let value = decoder.value(field)
    // What can be nil is given the chance.
    if value == nil, !(type is any ExpressibleByNilLiteral.Type) { return try empty(type, key) }
    return try ValueDecoder.decoded(type, value, root: decoder, field: field)
  }

  /// What an absent field is to an array or a set, which insertions leave out if it is empty.
  private func empty<T: Decodable>(_ type: T.Type, _ key: Key) throws -> T {
    guard ValueKind.of(type).isList else { throw mismatch(type, key) }
    do {
      return try ValueDecoder.decoded(type, .list([]), root: decoder, field: key.stringValue)
    } catch {
      // Bytes, say: a type of that kind that is kept as something else.
      throw mismatch(type, key)
    }
  }

  private func mismatch(_ type: Any.Type, _ key: Key) -> DecodingError {
    let place = decoder.place(key.stringValue)
    guard let value = decoder.value(key.stringValue) else { return place.missing(type, key) }
    return place.mismatch(type, value)
  }

  // MARK: what a record has no place for

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    throw refused(key)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw refused(key)
  }

  private func refused(_ key: Key) -> DecodingError {
    let place = decoder.place(key.stringValue)
    return place.corrupted(place.nestedContainer)
  }

  func superDecoder() throws -> any Decoder {
    throw decoder.place.corrupted(decoder.place.superclass)
  }

  func superDecoder(forKey key: Key) throws -> any Decoder { try superDecoder() }
}

extension FieldValue {
  /// A double, or an integer that is one exactly.
  var asDouble: Double? {
    switch self {
    case .double(let value): value
    case .int(let value): Double(exactly: value)
    default: nil
    }
  }

  /// It is an integer, or a list with one in it.
  var hasInteger: Bool {
    switch self {
    case .int: true
    case .list(let items): items.contains { $0.hasInteger }
    default: false
    }
  }

  /// What a model shows of it that has a `Double` there, or a list of them.
  var asDoubles: FieldValue {
    switch self {
    case .int: asDouble.map(FieldValue.double) ?? self
    case .list(let items): .list(items.map(\.asDoubles))
    default: self
    }
  }

  /// What a model shows of it that has a `Float` there, or a list of them.
  var roundedToFloats: FieldValue {
    switch self {
    case .double(let value): .double(asFloat.map { Double($0) } ?? value)
    case .list(let items): .list(items.map(\.roundedToFloats))
    default: self
    }
  }

  /// The nearest float; nil for what is beyond all floats.
  var asFloat: Float? {
    guard let double = asDouble else { return nil }
    let float = Float(double)
    return float.isInfinite && !double.isInfinite ? nil : float
  }

  /// An integer that fits.
  func asInteger<T: FixedWidthInteger>() -> T? {
    if case .int(let value) = self { T(exactly: value) } else { nil }
  }
}
