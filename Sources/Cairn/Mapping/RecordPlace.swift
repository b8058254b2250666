/// Where a record is: the route to its datastore, the table, and the id.
struct RecordPlace: Hashable, Sendable {
  var route: String
  var table: String
  var record: RecordID
}
