internal import Cairn
internal import CairnBytes

/// Decodes any `Decodable` value from CBOR.
struct CBORDecoder: Decoder {
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  fileprivate let cbor: CBOR

  fileprivate init(_ path: [any CodingKey], _ cbor: CBOR) {
    codingPath = path
    self.cbor = cbor
  }

  static func decode<T: Decodable>(
    _ type: T.Type, from bytes: [UInt8]
  ) throws(CairnError) -> T {
    let cbor: CBOR
    do { cbor = try CBOR(bytes) } catch {
      throw CairnError(.corrupt, "an encoded value is no CBOR (\(error)); set it anew")
    }
    do {
      return try CBORDecoder([], cbor).value(type)
    } catch {
      throw CairnError(
        .badType, "a value can't be decoded as \(T.self): \(error); read it as the type that it "
          + "was written as")
    }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .map(let members) = cbor else { throw mismatch([String: Any].self) }
    return KeyedDecodingContainer(Keyed<Key>(decoder: self, members: members))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    switch cbor {
    case .array(let items): return Unkeyed(decoder: self, items: items)
    // A type that reads bytes one by one.
    case .bytes(let bytes):
      return Unkeyed(decoder: self, items: bytes.map { .unsigned(UInt64($0)) })
    default: throw mismatch([Any].self)
    }
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { Single(decoder: self) }

  // MARK: values

  fileprivate func mismatch(_ type: Any.Type) -> DecodingError {
    DecodingError.typeMismatch(
      type, .init(codingPath: codingPath, debugDescription: "something else is there"))
  }

  fileprivate func value<T: Decodable>(_ type: T.Type) throws -> T {
    if type == [UInt8].self, case .bytes(let bytes) = cbor, let result = bytes as? T {
      return result
    }
    return try T(from: self)
  }

  fileprivate func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
    switch cbor {
    case .unsigned(let number):
      if let result = T(exactly: number) { return result }
    case .negative(let number):
      if let number = Int64(exactly: number), let result = T(exactly: -1 - number) {
        return result
      }
    default: throw mismatch(type)
    }
    throw DecodingError.dataCorrupted(
      .init(codingPath: codingPath, debugDescription: "a number that is no \(type)"))
  }

  fileprivate func number() throws -> Double {
    switch cbor {
    case .double(let value): return value
    case .unsigned(let value): return Double(value)
    case .negative(let value): return -1 - Double(value)
    default: throw mismatch(Double.self)
    }
  }

  private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: CBORDecoder
    let members: [String: CBOR]
    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { members.keys.sorted().compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

    private func member(_ key: any CodingKey) throws -> CBORDecoder {
      guard let value = members[key.stringValue] else {
        throw DecodingError.keyNotFound(
          key, .init(codingPath: codingPath, debugDescription: "there is no \(key.stringValue)"))
      }
      return CBORDecoder(codingPath + [key], value)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try member(key).cbor == .null }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
      try member(key).value(type)
    }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
      try member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      try member(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try member(CBORIndex("super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }
  }

  private struct Unkeyed: UnkeyedDecodingContainer {
    let decoder: CBORDecoder
    let items: [CBOR]
    var currentIndex = 0
    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { items.count }
    var isAtEnd: Bool { currentIndex >= items.count }

    private mutating func next() throws -> CBORDecoder {
      let path = codingPath + [CBORIndex(currentIndex)]
      guard !isAtEnd else {
        throw DecodingError.valueNotFound(
          Any.self, .init(codingPath: path, debugDescription: "there are no more items"))
      }
      defer { currentIndex += 1 }
      return CBORDecoder(path, items[currentIndex])
    }

    mutating func decodeNil() throws -> Bool {
      guard !isAtEnd, items[currentIndex] == .null else { return false }
      currentIndex += 1
      return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next().value(type) }

    mutating func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
      try next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
      try next().unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder { try next() }
  }

  private struct Single: SingleValueDecodingContainer {
    let decoder: CBORDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { decoder.cbor == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
      guard case .bool(let value) = decoder.cbor else { throw decoder.mismatch(type) }
      return value
    }

    func decode(_ type: String.Type) throws -> String {
      guard case .text(let value) = decoder.cbor else { throw decoder.mismatch(type) }
      return value
    }

    func decode(_ type: Double.Type) throws -> Double { try decoder.number() }
    func decode(_ type: Float.Type) throws -> Float { Float(try decoder.number()) }
    func decode(_ type: Int.Type) throws -> Int { try decoder.integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try decoder.integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try decoder.integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try decoder.integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try decoder.integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try decoder.integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try decoder.integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try decoder.integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try decoder.integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try decoder.integer(type) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoder.value(type) }
  }
}
