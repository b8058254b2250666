/// What there is to say of a delta that is one stroke in one list, beside the stroke: a record that
/// its scope knows, no dependencies, nothing else. To take that apart into the columns of a `Delta`
/// would take longer than all that is done with it.
package struct ListDelta: Sendable {
  package var dot: Dot
  /// Like this, as in `Delta`.
  package var time: Int64
  /// Table and field, by their numbers in the scope.
  package var names: Names
  /// Index in the scope's dictionary of records.
  package var reference: UInt32

  package struct Names: Sendable {
    var table: Int
    var field: Int
  }

  package init(dot: Dot, time: Int64, names: Names, reference: UInt32) {
    self.dot = dot
    self.time = time
    self.names = names
    self.reference = reference
  }
}
