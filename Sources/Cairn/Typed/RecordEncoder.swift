internal import CairnMerge

/// Takes a model apart into the fields of a record.
final class RecordEncoder: Encoder {
  let place: FieldPlace
  private let carriesID: Bool
  private var encoded = RecordFields()
  private var hasContainer = false
  /// What can't be, found where a coder has no way to throw. Every encode after it throws it.
  var problem: CairnError?
  /// The model's id, if it carries one and encodes it.
  private(set) var id: RecordID?

  init(at place: FieldPlace, carriesID: Bool = false, problem: CairnError? = nil) {
    self.place = place
    self.carriesID = carriesID
    self.problem = problem
  }

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    hasContainer = true
    return KeyedEncodingContainer(FieldsWriter(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { refused(place.noFields) }

  func singleValueContainer() -> any SingleValueEncodingContainer { refused(place.noFields) }

  /// A coder that takes nothing.
  func refused(_ problem: CairnError, field: String = "") -> ValueEncoder {
    self.problem = self.problem ?? problem
    return ValueEncoder(for: place.model, root: self, field: field)
  }

  func place(_ field: String, item: Int? = nil) -> FieldPlace {
    var place = place
    place.field = field
    place.item = item
    return place
  }

  func put(_ field: String, _ value: FieldValue?) throws {
    if let problem { throw problem }
    if carriesID, field == RecordEncoder.idKey {
      guard case .string(let text)? = value else {
        throw place(field).error(.badType, "\(place.model) doesn't encode its id as one")
      }
      id = RecordID(text)
      return
    }
    guard Identifier.isValidField(field) else {
      throw place.error(
        .illegalArgument, "the coding key \"\(field)\" of \(place.model) can't name a field: 1 to "
          + "64 of the characters A-Z a-z 0-9 - . _ + / =, or a colon and up to 63 of these; give "
          + "it another raw value")
    }
    encoded.fields.append((field, value))
  }

  /// The coding key that stands for the record's id in models that carry it.
  static let idKey = "id"

  /// Says that a field's list is a set.
  func markSet(_ field: String) { encoded.sets.insert(field) }

  /// Says that a field's list makes sense as a whole only.
  func markWhole(_ field: String) { encoded.wholes.insert(field) }

  /// Says that a field's list is as good as absent when it is empty. Not so if the model is a
  /// dictionary: the key is part of what that is.
  func markList(_ field: String) {
    if ValueKind.of(place.model) != .dictionary { encoded.lists.insert(field) }
  }

  /// Says that a field is, or has items, of less precision than is stored.
  func markFloat(_ field: String) { encoded.floats.insert(field) }

  /// Says that a field is, or has items, that an integer is as good for.
  func markDouble(_ field: String) { encoded.doubles.insert(field) }

  /// Takes note of a list that has integers beside such items: its type tells them apart.
  func noteItems(_ field: String, _ items: [FieldValue]) {
    guard encoded.hasDoubles(field) else { return }
    if items.contains(where: { $0.hasInteger }) { encoded.mixed.insert(field) }
  }

  func finish() throws -> RecordFields {
    if let problem { throw problem }
    guard hasContainer else { throw place.noFields }
    return encoded
  }
}
