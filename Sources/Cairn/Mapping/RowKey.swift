/// A table and an id in it: an object on this device, or a record of a route's datastore.
struct RowKey: Hashable, Comparable, Sendable {
  var table: String
  var id: RecordID

  static func < (a: RowKey, b: RowKey) -> Bool { (a.table, a.id) < (b.table, b.id) }
}
