import CairnMerge

private struct EditedField: Hashable {
  /// The record's place in the delta.
  var row: UInt32
  var field: String
}

extension StoreState {
  /// The edits of lists in a section by cell, under the names that there are now, for records of
  /// which these are the states.
  ///
  /// A delta may edit several lists of one field. Of these some may be gone, and their edits go to
  /// the list that shows, as the edits of that one do: a list would take the first of them only. So
  /// they are one, in the cell of the first, and the others are left out.
  func edits(
    of delta: Delta, _ section: Delta.Section, _ rows: [UInt32: RecordState],
    renamed: (ListEdit) -> ListEdit
  ) -> [Int: ListEdit] {
    var edits: [Int: ListEdit] = [:]
    var fields: [EditedField: [Int]] = [:]
    for column in delta.columns[section.columns] {
      for index in column.cells {
        let row = delta.rows[index]
        guard rows[row] != nil, let edit = delta.edits[index] else { continue }
        edits[index] = renamed(edit)
        fields[EditedField(row: row, field: column.field), default: []].append(index)
      }
    }
    for (name, cells) in fields where cells.count > 1 {
      guard let record = rows[name.row] else { continue }
      let register = record.register(name.field)
      let rule = rules.rule(table: section.table, field: name.field)
      var firsts: [Dot: Int] = [:]
      for cell in cells {
        guard let edit = edits[cell], let home = register.home(of: edit, rule) else { continue }
        if let first = firsts[home] {
          edits[first]?.join(edit)
          edits[cell] = nil
        } else {
          firsts[home] = cell
        }
      }
    }
    return edits
  }
}
