/// What things cost, in bytes, before their values are counted. Ids and field names are free.
package enum Sizes {
  package static let datastore = 1_000
  package static let record = 100
  package static let field = 100
  package static let listItem = 20
  /// Unsynced changes; 0 instead when there are none.
  package static let delta = 100
  package static let change = 100

  /// A field with this value, or the change that writes it; nil is a removal.
  package static func field(_ value: FieldValue?) -> Int {
    field + (value?.size ?? 0)
  }
}
