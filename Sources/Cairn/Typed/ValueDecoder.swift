internal import CairnLog
internal import CairnMerge

/// Makes the value of a field, or of an item of a list, into whatever type the model has there.
final class ValueDecoder: Decoder, SingleValueDecodingContainer, UnkeyedDecodingContainer {
  private let type: Any.Type
  /// The value, nil if the field is absent.
  let value: FieldValue?
  private let root: RecordDecoder
  private let field: String
  /// The item's index if it is one.
  private let item: Int?
  /// The items to give one after the other, if it is a list that is decoded.
  private let items: [FieldValue]?
  private(set) var currentIndex = 0

  private init(
    for type: Any.Type, _ value: FieldValue?, root: RecordDecoder, field: String, item: Int?,
    items: [FieldValue]? = nil
  ) {
    self.type = type
    self.value = value
    self.root = root
    self.field = field
    self.item = item
    self.items = items
  }

  /// A value of a type from what a field has.
  static func decoded<T: Decodable>(
    _ type: T.Type, _ value: FieldValue?, root: RecordDecoder, field: String, item: Int? = nil
  ) throws -> T {
    let place = root.place(field, item: item)
    var given = value
    if type == [UInt8].self {
      guard case .bytes(let bytes)? = value, BlobReference(bytes) == nil,
        let result = bytes as? T
      else { throw place.mismatch(type, value) }
      return result
    }
    // Lists of text are common enough for a way that is shorter.
    if type == String.self, case .string(let text)? = value, let result = text as? T {
      return result
    }
    switch ValueKind.of(type) {
    case .plain, .list, .set: break
    case .date:
      guard case .date(let milliseconds)? = value else { throw place.mismatch(type, value) }
      given = .double(FoundationDate.seconds(milliseconds))
    case .data:
      guard case .bytes(let bytes)? = value, BlobReference(bytes) == nil else {
        throw place.mismatch(type, value)
      }
      given = .list(bytes.map { .int(Int64($0)) })
    case .dictionary: throw place.corrupted(place.refusal(of: type))
    }
    let decoder = ValueDecoder(for: type, given, root: root, field: field, item: item)
    do { return try T(from: decoder) } catch let error as DecodingError {
      if CairnError.inside(error) != nil { throw error }
      // The type's own complaint, about a raw value say, does not know where it is.
      if case .dataCorrupted = error { throw place.refused(type, value) }
      throw place.mismatch(type, value)
    }
  }

  private var place: FieldPlace {
    root.place(field, item: items == nil ? item : currentIndex)
  }
  var codingPath: [any CodingKey] { place.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { root.userInfo }

  func mismatch(_ expected: Any.Type) -> DecodingError { place.mismatch(expected, value) }

  // MARK: containers

  func container<Key: CodingKey>(
    keyedBy keyType: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    throw place.corrupted(place.refusal(of: type))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .list(let items)? = value else { throw place.mismatch(type, value) }
    return ValueDecoder(for: type, value, root: root, field: field, item: item, items: items)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  var count: Int? { items?.count }
  var isAtEnd: Bool { currentIndex >= items?.count ?? 0 }

  func nestedContainer<Key: CodingKey>(
    keyedBy keyType: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    throw place.corrupted(place.nestedContainer)
  }

  func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw place.corrupted(place.nestedList)
  }

  func superDecoder() throws -> any Decoder { throw place.corrupted(place.superclass) }

  // MARK: values

  /// No item of a list is nil.
  func decodeNil() -> Bool { items == nil && value == nil }

  /// The value, or the list's next item, in the form that `read` looks for.
  private func next<T>(_ type: T.Type, _ read: (FieldValue) throws -> T?) throws -> T {
    guard let items else {
      guard let value, let result = try read(value) else {
        throw place.mismatch(self.type, as: type, value)
      }
      return result
    }
    guard currentIndex < items.count else {
      let error = root.place(field).error(
        .badType, "\(root.place.model) expects more than the \(items.count) items of the list")
      throw place.corrupted(error)
    }
    guard let result = try read(items[currentIndex]) else {
      throw place.mismatch(type, items[currentIndex])
    }
    currentIndex += 1
    return result
  }

  func decode(_ type: Bool.Type) throws -> Bool {
    try next(type) { if case .bool(let value) = $0 { value } else { nil } }
  }

  func decode(_ type: String.Type) throws -> String {
    try next(type) { if case .string(let value) = $0 { value } else { nil } }
  }

  func decode(_ type: Double.Type) throws -> Double { try next(type) { $0.asDouble } }
  func decode(_ type: Float.Type) throws -> Float { try next(type) { $0.asFloat } }

  // These two have a default, which would come before the general one.
  func decode(_ type: Int128.Type) throws -> Int128 { try next(type) { $0.asInteger() } }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try next(type) { $0.asInteger() } }

  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    try next(type) { $0.asInteger() }
  }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try next(type) { value in
      try ValueDecoder.decoded(
        type, value, root: root, field: field, item: items == nil ? item : currentIndex)
    }
  }
}
