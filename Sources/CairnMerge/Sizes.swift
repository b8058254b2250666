/// What things cost, in bytes, before their values are counted. Ids and field names are free.
@usableFromInline
package enum Sizes {
  @inlinable package static var datastore: Int { 1_000 }
  @inlinable package static var record: Int { 100 }
  @inlinable package static var field: Int { 100 }
  @inlinable package static var listItem: Int { 20 }
  /// Unsynced changes; 0 instead when there are none.
  @inlinable package static var delta: Int { 100 }
  @inlinable package static var change: Int { 100 }

  /// A field with this value, or the change that writes it; nil is a removal.
  package static func field(_ value: FieldValue?) -> Int {
    field + (value?.size ?? 0)
  }
}
