internal import CairnMerge

/// The fields of an object or of its record.
typealias ObjectFields = [String: FieldValue]

extension ObjectFields {
  init(_ fields: [(String, FieldValue)]) {
    self.init(fields, uniquingKeysWith: { first, _ in first })
  }

  /// In the order of their names, as decoders take them.
  var inOrder: [(String, FieldValue)] {
    sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  var shown: [String: Cairn.Value] { mapValues { Cairn.Value($0) } }

  /// What fields are after a model has changed from one value to another: those that the model does
  /// not know stay.
  static func changed(
    _ now: ObjectFields, from before: RecordFields?, to after: RecordFields
  ) -> ObjectFields {
    var result = now
    for (field, _) in before?.fields ?? [] { result[field] = nil }
    for (field, value) in after.fields { result[field] = value }
    return result
  }

  /// Names of the fields that differ.
  static func differences(_ a: ObjectFields, _ b: ObjectFields) -> Set<String> {
    Set(a.keys).union(b.keys).filter { a[$0] != b[$0] }
  }
}

/// Fields with what they are to be; nil is a removal.
typealias PendingFields = [String: FieldValue?]

/// An object's id, and that of its record.
struct ObjectPlace: Sendable {
  var object: RecordID
  var record: RecordID
}

/// The record that an object is mapped to, as fields.
struct ShapedObject: Sendable {
  var route: String
  /// Those that have a value.
  var fields: ObjectFields
  /// All that the record's type speaks of, those without a value among them.
  var known: Set<String>
  /// The type's own account of its fields: which lists are sets, and the like.
  var form: RecordFields

  init(_ encoded: RecordFields, route: String) {
    self.route = route
    fields = [:]
    for (field, value) in encoded.fields { fields[field] = value }
    known = Set(encoded.fields.map(\.field))
    form = encoded
  }

  /// What the record's type reads of a field with this value: an absent list is an empty one.
  func read(_ field: String, _ value: FieldValue?) -> FieldValue? {
    if let value { return value }
    return form.lists.contains(field) ? FieldValue.list([]) : nil
  }

  /// Whether two values of a field come to the same.
  func isSame(_ field: String, _ a: FieldValue?, _ b: FieldValue?) -> Bool {
    read(field, a) == read(field, b)
  }
}
