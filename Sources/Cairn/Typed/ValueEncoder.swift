internal import CairnMerge

/// Makes one value of whatever type into the value of a field, or of an item of a list.
final class ValueEncoder: Encoder, SingleValueEncodingContainer, UnkeyedEncodingContainer {
  private enum State {
    case nothing, null
    case value(FieldValue)
    case list([FieldValue])
    case bytes([UInt8])
  }

  private let type: Any.Type
  private let kind: ValueKind
  private let root: RecordEncoder
  private let field: String
  /// The item's index if it is one.
  private let item: Int?
  private var state = State.nothing

  init(for type: Any.Type, root: RecordEncoder, field: String, item: Int? = nil) {
    self.type = type
    self.root = root
    self.field = field
    self.item = item
    kind = ValueKind.of(type)
  }

  /// What a value is as a field, nil if it is an absent one.
  static func encoded<T: Encodable>(
    _ value: T, root: RecordEncoder, field: String, item: Int? = nil
  ) throws -> FieldValue? {
    if T.self == [UInt8].self, let bytes = value as? [UInt8] { return .bytes(bytes) }
    // Lists of text are common enough for a way that is shorter.
    if T.self == String.self, let text = value as? String { return .string(text) }
    let encoder = ValueEncoder(for: T.self, root: root, field: field, item: item)
    try value.encode(to: encoder)
    if encoder.isWhole(value) { root.markWhole(field) }
    return try encoder.finish()
  }

  private var place: FieldPlace { root.place(field, item: item) }
  var codingPath: [any CodingKey] { place.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { root.userInfo }

  /// Whether a value has made a list of itself without being one: only its type knows what the
  /// items mean to each other.
  private func isWhole(_ value: some Encodable) -> Bool {
    guard kind == .plain, case .list(let items) = state else { return false }
    switch ValueKind.content(of: value) {
    case .list: return false
    case .pairs: return true
    // Where there are no items a list may be absent for now: all else has some.
    case .nothing: return !items.isEmpty
    }
  }

  private func finish() throws -> FieldValue? {
    if let problem = root.problem { throw problem }
    switch state {
    case .nothing: throw place.error(.badType, "\(type) encodes nothing")
    case .null: return nil
    case .value(.double(let seconds)) where kind == .date:
      guard let milliseconds = FoundationDate.milliseconds(seconds) else {
        throw place.error(
          .badType, "a date \(seconds) seconds after 2001 is out of range: dates are kept in "
            + "milliseconds, as 64 bits")
      }
      return .date(milliseconds)
    case .value(let value): return value
    case .list(let items):
      root.noteItems(field, items)
      if kind != .set { return .list(items) }
      root.markSet(field)
      return .list(items.sorted { FieldValue.ordered($0, $1) < 0 })
    case .bytes(let bytes): return .bytes(bytes)
    }
  }

  // MARK: containers

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    let problem = root.problem ?? place.refusal(of: self.type)
    root.problem = problem
    return KeyedEncodingContainer(
      FieldsWriter(encoder: RecordEncoder(at: root.place, problem: problem)))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if kind == .data {
      state = .bytes([])
      return self
    }
    if kind == .dictionary { root.problem = root.problem ?? place.refusal(of: type) }
    if item != nil { root.problem = root.problem ?? place.nestedList }
    state = .list([])
    return self
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  var count: Int {
    switch state {
    case .list(let items): items.count
    case .bytes(let bytes): bytes.count
    default: 0
    }
  }

  func nestedContainer<Key: CodingKey>(
    keyedBy keyType: Key.Type
  ) -> KeyedEncodingContainer<Key> {
    refused(place.nestedContainer).container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { refused(place.nestedList) }
  func superEncoder() -> any Encoder { refused(place.superclass) }

  private func refused(_ problem: CairnError) -> ValueEncoder {
    root.problem = root.problem ?? problem
    return self
  }

  // MARK: values

  /// Takes a value: the next item, if it is a list that is encoded.
  func put(_ value: FieldValue) throws {
    if let problem = root.problem { throw problem }
    switch state {
    case .list(var items):
      state = .nothing
      if case .list = value { throw root.place(field, item: items.count).nestedList }
      items.append(value)
      state = .list(items)
    case .bytes: throw place.refusal(of: type)
    default:
      guard value.isStorable else { throw place.nestedList }
      state = .value(value)
    }
  }

  func encodeNil() throws {
    if let problem = root.problem { throw problem }
    if case .list(let items) = state { throw root.place(field, item: items.count).nilInList }
    state = .null
  }

  func encode(_ value: Bool) throws { try put(.bool(value)) }
  func encode(_ value: String) throws { try put(.string(value)) }

  func encode(_ value: Double) throws {
    if kind != .date { root.markDouble(field) }
    try put(.double(value))
  }

  func encode(_ value: Float) throws {
    root.markFloat(field)
    try put(.double(Double(value)))
  }

  // These two have a default, which would come before the general one.
  func encode(_ value: Int128) throws { try putInteger(value) }
  func encode(_ value: UInt128) throws { try putInteger(value) }
  func encode<T: FixedWidthInteger & Encodable>(_ value: T) throws { try putInteger(value) }

  private func putInteger(_ value: some FixedWidthInteger) throws {
    if case .bytes(var bytes) = state, let byte = UInt8(exactly: value) {
      state = .nothing
      bytes.append(byte)
      state = .bytes(bytes)
      return
    }
    guard let integer = Int64(exactly: value) else {
      throw root.place(field, item: nextItem).outOfRange(value)
    }
    try put(.int(integer))
  }

  func encode<T: Sequence>(contentsOf sequence: T) throws where T.Element == UInt8 {
    guard case .bytes(var bytes) = state else {
      for byte in sequence { try encode(byte) }
      return
    }
    state = .nothing
    bytes.append(contentsOf: sequence)
    state = .bytes(bytes)
  }

  func encode<T: Encodable>(_ value: T) throws {
    if let problem = root.problem { throw problem }
    let item = nextItem
    guard let value = try ValueEncoder.encoded(value, root: root, field: field, item: item) else {
      return try encodeNil()
    }
    try put(value)
  }

  private var nextItem: Int? {
    if case .list(let items) = state { items.count } else { item }
  }
}
