import CairnMerge

/// Which index: one field of one table.
package struct IndexName: Hashable, Sendable {
  package var table: String
  package var field: String

  package init(table: String, field: String) {
    self.table = table
    self.field = field
  }

  package static func == (a: IndexName, b: IndexName) -> Bool {
    a.table.isSameName(as: b.table) && a.field.isSameName(as: b.field)
  }
}
