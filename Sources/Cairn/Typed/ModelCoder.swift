internal import CairnMerge

/// Between the values of a model and the fields of a table's records.
struct ModelCoder<Model: Codable & Sendable>: Hashable, Sendable {
  /// The table's id, for messages.
  let table: String
  /// Whether the model's `id` is the record's.
  let carriesID: Bool

  init(table: String) {
    self.table = table
    carriesID = Model.self is any Identifiable<RecordID>.Type
  }

  func decode(_ fields: [(String, FieldValue)], _ id: RecordID) throws(CairnError) -> Model {
    let decoder = RecordDecoder(fields, at: place(id), carriesID: carriesID)
    do { return try Model(from: decoder) } catch {
      throw CairnError(coding: error, at: decoder.place)
    }
  }

  /// The fields that the model has now, nil for those that are absent.
  func encode(_ model: Model, _ id: RecordID) throws(CairnError) -> RecordFields {
    let encoder = RecordEncoder(at: place(id), carriesID: carriesID)
    do {
      try model.encode(to: encoder)
      let fields = try encoder.finish()
      if let own = encoder.id ?? ownID(of: model), own != id {
        throw encoder.place.error(
          .illegalArgument, "the model's id is \(own); a record's id can't be another, nor change")
      }
      return fields
    } catch {
      throw CairnError(coding: error, at: encoder.place)
    }
  }

  /// The id that the model carries, nil if it carries none.
  func ownID(of model: Model) -> RecordID? {
    carriesID ? (model as? any Identifiable<RecordID>)?.id : nil
  }

  private func place(_ id: RecordID) -> FieldPlace {
    FieldPlace(model: Model.self, table: table, record: id)
  }
}
