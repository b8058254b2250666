internal import Cairn

/// Encodes any `Encodable` value as CBOR.
final class CBOREncoder: Encoder {
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any] = [:]
  fileprivate let place: Place

  /// Where a value is going to be: containers are filled after they were handed out.
  fileprivate final class Place {
    enum Content {
      case value(CBOR)
      case array([Place])
      case map([String: Place])
    }

    var content: Content?

    /// What was never encoded is an empty map, as for a type without properties.
    var cbor: CBOR {
      switch content {
      case .value(let value): value
      case .array(let items): .array(items.map(\.cbor))
      case .map(let members): .map(members.mapValues(\.cbor))
      case nil: .map([:])
      }
    }

    /// Whether anything lies as many levels below it.
    func reaches(_ levels: Int) -> Bool {
      if levels == 0 { return true }
      return switch content {
      case .array(let items): items.contains { $0.reaches(levels - 1) }
      case .map(let members): members.values.contains { $0.reaches(levels - 1) }
      case .value, nil: false
      }
    }
  }

  fileprivate init(_ path: [any CodingKey], _ place: Place) {
    codingPath = path
    self.place = place
  }

  static func encode(_ value: some Encodable) throws(CairnError) -> [UInt8] {
    let place = Place()
    do {
      try CBOREncoder([], place).put(value)
    } catch {
      throw CairnError(
        .illegalArgument, "a \(type(of: value)) can't be encoded: \(error); mend its encode(to:)")
    }
    // Nobody would read it. `put` sees no containers that a value nests, and no nils.
    if place.reaches(CBOR.deepest) {
      throw CairnError(
        .illegalArgument, "a \(type(of: value)) can't be encoded: it has more than "
          + "\(CBOR.deepest) levels; mend its encode(to:)")
    }
    var bytes: [UInt8] = []
    place.cbor.append(to: &bytes)
    return bytes
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Keyed<Key>(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { Unkeyed(encoder: self) }
  func singleValueContainer() -> any SingleValueEncodingContainer { Single(encoder: self) }

  // MARK: values

  fileprivate func put(_ value: CBOR) { place.content = .value(value) }

  fileprivate func put<T: Encodable>(_ value: T) throws {
    // Nobody would read it.
    guard codingPath.count < CBOR.deepest else {
      throw EncodingError.invalidValue(
        value,
        .init(codingPath: codingPath, debugDescription: "more than \(CBOR.deepest) levels deep"))
    }
    // By the type: an empty array of anything can be cast to an array of bytes.
    if T.self == [UInt8].self, let bytes = value as? [UInt8] { return put(.bytes(bytes)) }
    try value.encode(to: self)
  }

  fileprivate func putInteger(_ value: some BinaryInteger) throws {
    if value < 0, let number = UInt64(exactly: -1 - value) {
      put(.negative(number))
    } else if let number = UInt64(exactly: value) {
      put(.unsigned(number))
    } else {
      throw EncodingError.invalidValue(
        value, .init(codingPath: codingPath, debugDescription: "more than 64 bits"))
    }
  }

  fileprivate func member(_ key: any CodingKey) -> CBOREncoder {
    let place = Place()
    var members: [String: Place] = [:]
    if case .map(let known) = self.place.content { members = known }
    // Let go of first, or each member copies all that are there.
    self.place.content = nil
    members[key.stringValue] = place
    self.place.content = .map(members)
    return CBOREncoder(codingPath + [key], place)
  }

  fileprivate func item() -> CBOREncoder {
    let place = Place()
    var items: [Place] = []
    if case .array(let known) = self.place.content { items = known }
    let key = CBORIndex(items.count)
    self.place.content = nil
    items.append(place)
    self.place.content = .array(items)
    return CBOREncoder(codingPath + [key], place)
  }

  private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: CBOREncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    init(encoder: CBOREncoder) {
      self.encoder = encoder
      if case .map = encoder.place.content { return }
      encoder.place.content = .map([:])
    }

    func encodeNil(forKey key: Key) { encoder.member(key).put(.null) }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
      try encoder.member(key).put(value)
    }

    func nestedContainer<Nested: CodingKey>(
      keyedBy keyType: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
      encoder.member(key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      encoder.member(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder.member(CBORIndex("super")) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder.member(key) }
  }

  private struct Unkeyed: UnkeyedEncodingContainer {
    let encoder: CBOREncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    init(encoder: CBOREncoder) {
      self.encoder = encoder
      if case .array = encoder.place.content { return }
      encoder.place.content = .array([])
    }

    var count: Int {
      if case .array(let items) = encoder.place.content { return items.count }
      return 0
    }

    func encodeNil() { encoder.item().put(.null) }
    func encode<T: Encodable>(_ value: T) throws { try encoder.item().put(value) }

    func nestedContainer<Nested: CodingKey>(
      keyedBy keyType: Nested.Type
    ) -> KeyedEncodingContainer<Nested> {
      encoder.item().container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
      encoder.item().unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder.item() }
  }

  private struct Single: SingleValueEncodingContainer {
    let encoder: CBOREncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() { encoder.put(.null) }
    func encode(_ value: Bool) { encoder.put(.bool(value)) }
    func encode(_ value: String) { encoder.put(.text(value)) }
    func encode(_ value: Double) { encoder.put(.double(value)) }
    func encode(_ value: Float) { encoder.put(.double(Double(value))) }
    func encode(_ value: Int) throws { try encoder.putInteger(value) }
    func encode(_ value: Int8) throws { try encoder.putInteger(value) }
    func encode(_ value: Int16) throws { try encoder.putInteger(value) }
    func encode(_ value: Int32) throws { try encoder.putInteger(value) }
    func encode(_ value: Int64) throws { try encoder.putInteger(value) }
    func encode(_ value: UInt) throws { try encoder.putInteger(value) }
    func encode(_ value: UInt8) throws { try encoder.putInteger(value) }
    func encode(_ value: UInt16) throws { try encoder.putInteger(value) }
    func encode(_ value: UInt32) throws { try encoder.putInteger(value) }
    func encode(_ value: UInt64) throws { try encoder.putInteger(value) }
    func encode<T: Encodable>(_ value: T) throws { try encoder.put(value) }
  }
}

/// A place in an array, or a name that no type declares.
struct CBORIndex: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(_ index: Int) {
    stringValue = String(index)
    intValue = index
  }

  init(_ name: String) {
    stringValue = name
    intValue = nil
  }

  init?(stringValue: String) { self.init(stringValue) }
  init?(intValue: Int) { self.init(intValue) }
}
