internal import CairnLog
internal import CairnMerge

/// Where in a table something is that can't be read or written, for messages.
struct FieldPlace: CustomStringConvertible {
  var model: Any.Type
  var table: String
  var record: RecordID
  var field: String?
  /// The item's index, in a list.
  var item: Int?

  var description: String {
    var text = "table \(table), record \(record)"
    if let field { text += ", field \(field)" }
    if let item { text += ", item \(item)" }
    return text
  }

  /// Where it is, as coders say it.
  var codingPath: [any CodingKey] {
    [field.map(FieldKey.init(stringValue:)), item.map(FieldKey.init(intValue:))].compactMap(\.self)
  }

  func error(_ code: CairnError.Code, _ message: String) -> CairnError {
    CairnError(code, "\(self): \(message)", id: field ?? record.description)
  }

  // MARK: what a record can't hold

  /// A type that asks for fields, or for a list, where neither can be.
  func refusal(of type: Any.Type) -> CairnError {
    if ValueKind.of(type) == .dictionary {
      return error(
        .badType, "a field can't hold a dictionary; use a field for each key, or records of a "
          + "table of their own")
    }
    return error(
      .badType, "\(type) has fields of its own, and a field holds one value or a list of values; "
        + "keep them in fields of \(model), or in records of a table of their own")
  }

  var nestedList: CairnError {
    error(.badType, "a list can't hold lists; keep them in fields or records of their own")
  }

  var nilInList: CairnError {
    error(.badType, "a list can't hold nil; leave the item out")
  }

  var superclass: CairnError {
    error(
      .badType, "\(model) asks for a place for its superclass, and a record has none; use a struct")
  }

  var nestedContainer: CairnError {
    error(.badType, "\(model) asks for a nested container, and a record has fields only")
  }

  var noFields: CairnError {
    error(
      .badType, "\(model) does not encode as a keyed container; a model is a type whose properties "
        + "are the record's fields")
  }

  // MARK: what is found instead

  /// Coders expect errors of their own kind: models may catch them. Ours is inside.
  ///
  /// `form` is the type that a type asks for to make itself of.
  func mismatch(
    _ type: Any.Type, as form: Any.Type? = nil, _ found: FieldValue?
  ) -> DecodingError {
    let text = found.map(\.inWords) ?? "nothing"
    let expected = form.map { $0 == type ? "\(type)" : "\(type) (\($0))" } ?? "\(type)"
    let error = error(
      .badType, "\(model) expects \(expected) there and the record has \(text); change the type of "
        + "the property, or set the field anew")
    return .typeMismatch(type, context(error))
  }

  /// A value of the right kind that the type does not take: a case that an enumeration lacks, say.
  /// To set the field anew, or to change what others have, would take away what they have written.
  func refused(_ type: Any.Type, _ found: FieldValue?) -> DecodingError {
    let text = found.map(\.inWords) ?? "nothing"
    return corrupted(
      error(
        .badType, "\(model) expects \(type) there and does not take the record's \(text); written "
          + "by another version of the app? see records(_:unreadable:)"))
  }

  func missing(_ type: Any.Type, _ key: any CodingKey) -> DecodingError {
    let error = error(
      .badType, "\(model) expects \(type) there and the record has no such field; make the "
        + "property optional, or give it a default in init(from:)")
    return .keyNotFound(key, context(error))
  }

  func corrupted(_ error: CairnError) -> DecodingError { .dataCorrupted(context(error)) }

  private func context(_ error: CairnError) -> DecodingError.Context {
    DecodingError.Context(
      codingPath: codingPath, debugDescription: error.message, underlyingError: error)
  }
}

/// A coding key that any text or index can be.
struct FieldKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }

  init(intValue: Int) {
    stringValue = String(intValue)
    self.intValue = intValue
  }
}

extension FieldValue {
  /// Type and, if it is short, value, for messages.
  fileprivate var inWords: String {
    switch self {
    case .bool(let value): "bool \(value)"
    case .int(let value): "int \(value)"
    case .double(let value): "double \(value)"
    case .string(let value):
      value.utf8.count <= 40 ? "string \"\(value)\"" : "a string of \(value.utf8.count) bytes"
    case .bytes(let value):
      BlobReference(value) == nil ? "\(value.count) bytes" : "an attachment"
    case .date(let value): "date \(value)"
    case .list(let items): "a list of \(items.count)"
    }
  }
}
