package import CairnMerge

/// A delete that a delta states: whether the record goes depends on what else is known of it.
struct PlannedDelete {
  var dot: Dot
  var table: String
  var id: RecordName

  /// Adds what a delta deletes, reserved tables left out. `names` are the records of its scope.
  static func add(of delta: Delta, names: [RecordName], to deletes: inout [PlannedDelete]) {
    for section in delta.sections where !Identifier.isReserved(section.table) {
      for index in section.records {
        let entry = delta.records[index]
        guard entry.flags & Delta.Flags.delete != 0 else { continue }
        deletes.append(
          PlannedDelete(
            dot: delta.dot, table: section.table, id: names[Int(entry.reference)]))
      }
    }
  }
}

/// How many records a pack's deltas delete, by decoding all of it.
package enum DeleteCount {
  /// Counts the delete marks of one delta, those in reserved tables left out.
  package static func of(_ delta: Delta) -> Int {
    var count = 0
    for section in delta.sections where !Identifier.isReserved(section.table) {
      for entry in delta.records[section.records] where entry.flags & Delta.Flags.delete != 0 {
        count += 1
      }
    }
    return count
  }
}
