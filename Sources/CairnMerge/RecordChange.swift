/// What one delta does to one record: at most one delete, then at most one insert, then writes.
///
/// A delta that deletes a record and inserts it again has that order, so that the delete takes what
/// the author had seen and the rest belongs to the new incarnation.
package enum RecordChange: Hashable, Sendable {
  case delete
  case insert
  case write(field: String, Write)
}
