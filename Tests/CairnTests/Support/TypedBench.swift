import Cairn
import TestSupport
import Testing

/// A local datastore for models, and what errors say.
struct TypedBench {
  let place: TemporaryDirectory
  let datastore: Datastore

  init(_ configure: (inout Options) -> Void = { _ in }) throws {
    var options = Options()
    configure(&options)
    place = try TemporaryDirectory()
    datastore = try DatastoreManager(root: place.path("root"), options: options)
      .openDefaultDatastore()
  }

  func table<Model: Codable & Sendable>(
    of model: Model.Type = Model.self
  ) throws -> TypedTable<Model> {
    try datastore.table("things", of: model)
  }

  /// Inserts a model and reads it back from a datastore that was opened again; and its fields.
  func roundTrip<Model: Codable & Sendable>(
    _ model: Model
  ) throws -> (value: Model, fields: [String: Value]) {
    try datastore.table("trips", of: Model.self).insert(model, id: "r")
    let fields = try datastore.table("trips")["r"].fields
    try datastore.sync()
    try datastore.close()
    let again = try datastore.manager.openDefaultDatastore()
    let result = try #require(try again.table("trips", of: Model.self).get("r"))
    try again.close()
    return (result, fields)
  }

  /// The error of reading this field as a model.
  func readingError<Model: Codable & Sendable>(
    _ model: Model.Type, _ fields: [String: Value],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> CairnError? {
    let typed = try table(of: model)
    try typed.table.insert(fields: fields, id: "r")
    let error = #expect(throws: CairnError.self, sourceLocation: sourceLocation) {
      try typed.get("r")
    }
    try typed.delete("r")
    return error
  }

  /// The error of inserting a model, which leaves nothing behind.
  func writingError<Model: Codable & Sendable>(
    _ model: Model, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> CairnError? {
    let typed = try table(of: Model.self)
    let error = #expect(throws: CairnError.self, sourceLocation: sourceLocation) {
      try typed.insert(model, id: "r")
    }
    #expect(try typed.count == 0, sourceLocation: sourceLocation)
    #expect(datastore.unsyncedChangesSize == 0, sourceLocation: sourceLocation)
    return error
  }
}

enum Color: String, Codable, Sendable, CaseIterable { case red, green }
enum Level: Int, Codable, Sendable {
  case low = 1
  case high = 5
}
