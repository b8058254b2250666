package import CairnMerge

/// A record that an own delta changed, and how.
package struct TouchedRecord: Sendable {
  package struct Key: Hashable, Sendable {
    package var table: String
    package var id: RecordName
  }

  package var dot: Dot
  package var table: String
  package var id: RecordName
  package var isDeleted: Bool
  /// Fields that were written; all of them if it was inserted.
  package var fields: [String]
  /// Those of them that were not written again since they were removed, or the record deleted, as
  /// far as the deltas that say so can be read. Any other one that has no value is lost, unless a
  /// whole snapshot says that it has none.
  package var removed: Set<String> = []
  /// Those of them that were written last by what the snapshot had.
  package var folded: Set<String> = []

  package var key: Key { Key(table: table, id: id) }

  /// Takes in what a later delta changed of the same record.
  package mutating func add(_ later: TouchedRecord) {
    if later.isDeleted {
      isDeleted = true
      removed.formUnion(fields)
    }
    removed.subtract(later.fields)
    removed.formUnion(later.removed)
    folded.subtract(later.fields)
    folded.formUnion(later.folded)
    let new = later.fields.filter { !fields.contains($0) }
    fields += new
  }

  /// `isFolded`: the snapshot had what the delta says.
  static func add(
    of delta: Delta, names: [RecordName], isFolded: Bool, to result: inout [TouchedRecord]
  ) {
    for section in delta.sections {
      let start = result.count
      for index in section.records {
        let entry = delta.records[index]
        result.append(
          TouchedRecord(
            dot: delta.dot, table: section.table, id: names[Int(entry.reference)],
            isDeleted: entry.flags & Delta.Flags.delete != 0, fields: []))
      }
      for column in delta.columns[section.columns] {
        for cell in column.cells {
          let record = start + Int(delta.rows[cell]) - section.records.lowerBound
          result[record].fields.append(column.field)
          if isFolded { result[record].folded.insert(column.field) }
          if column.operation.hasValues, !CellTag.isValue(delta.tags[cell]) {
            result[record].removed.insert(column.field)
          } else {
            result[record].removed.remove(column.field)
          }
        }
      }
    }
  }
}
