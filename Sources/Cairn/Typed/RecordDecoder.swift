internal import CairnMerge

/// Gives a model the fields of a record.
final class RecordDecoder: Decoder {
  let place: FieldPlace
  private let fields: [(name: String, value: FieldValue)]
  private let carriesID: Bool
  /// Where the last field was: models mostly ask in the order in which fields were written.
  private var hint = 0

  init(_ fields: [(String, FieldValue)], at place: FieldPlace, carriesID: Bool) {
    self.fields = fields
    self.place = place
    self.carriesID = carriesID
  }

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  var names: [String] { fields.map(\.name) + (carriesID ? [RecordEncoder.idKey] : []) }

  /// The field's value, nil if it has none.
  func value(_ name: String) -> FieldValue? {
    if carriesID, name == RecordEncoder.idKey { return .string(place.record.description) }
    for index in hint..<fields.count where fields[index].name == name {
      hint = index
      return fields[index].value
    }
    for index in 0..<hint where fields[index].name == name {
      hint = index
      return fields[index].value
    }
    return nil
  }

  func place(_ field: String, item: Int? = nil) -> FieldPlace {
    var place = place
    place.field = field
    place.item = item
    return place
  }

  func container<Key: CodingKey>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(FieldsReader(decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw place.corrupted(place.noFields)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    throw place.corrupted(place.noFields)
  }
}
