import CairnMerge

/// Edits of lists that were made on a history of another device which has lost. What they name of
/// it is not here, or is something else: such a name is a delta and a number, and the history that
/// has won counts its deltas alike.
///
/// So what they say of such items is left out, and new items that hang on them go to the end of the
/// list. The other copy commits its items anew, under names that nobody can know yet.
struct Rehoming {
  let isStrange: (Dot) -> Bool
  private(set) var conflicts: [SyncOutcome.Conflict] = []

  init(isStrange: @escaping (Dot) -> Bool) { self.isStrange = isStrange }

  /// The delta with a home for its edits.
  mutating func rewrite(
    _ delta: Delta, names: [RecordName], in state: inout StoreState
  ) throws(StoreError) -> Delta {
    var new = delta
    for section in delta.sections {
      let columns = delta.columns[section.columns].filter { $0.operation == .edit }
      var rows: [UInt32: RecordState] = [:]
      for cell in columns.flatMap(\.cells) where delta.edits[cell]?.names(isStrange) ?? false {
        let row = delta.rows[cell]
        let name = names[Int(delta.records[Int(row)].reference)]
        rows[row] = try state.fullState(state.table(section.table), name)
      }
      if rows.isEmpty { continue }
      let known = state.edits(of: delta, section, rows) { $0.forgetting(isStrange) }
      for column in columns {
        let rule = state.rules.rule(table: section.table, field: column.field)
        for cell in column.cells where known[cell] != delta.edits[cell] {
          guard let record = rows[delta.rows[cell]] else { continue }
          // Else another one does what it did.
          var edit = known[cell] ?? ListEdit()
          if let homed = record.register(column.field).homed(edit, rule) {
            edit = homed
          } else if !edit.newItems.isEmpty {
            let name = names[Int(delta.records[Int(delta.rows[cell])].reference)]
            note(.list(edit.newItems), delta, section.table, name, column.field)
          }
          new.edits[cell] = edit
        }
      }
    }
    return new
  }

  /// There is no list that the items could be put into.
  private mutating func note(
    _ value: FieldValue, _ delta: Delta, _ table: String, _ id: RecordName, _ field: String
  ) {
    let loser = FieldConflict.Loser(
      value: value, stamp: Stamp(dot: delta.dot, time: delta.time))
    conflicts.append(
      SyncOutcome.Conflict(
        table: table, id: id,
        conflict: FieldConflict(field: field, visible: nil, losers: [loser])))
  }
}

extension Store {
  /// Commits deltas of the own device that were made on a history of another one which has lost.
  func rehome(
    _ packs: [[UInt8]], author: DeviceID, isStrange: @escaping (Dot) -> Bool
  ) throws(StoreError) -> (packs: [[UInt8]], conflicts: [SyncOutcome.Conflict]) {
    var rehoming = Rehoming(isStrange: isStrange)
    let packs = try commit(packs, author: author) { delta, _, names, state throws(StoreError) in
      try rehoming.rewrite(delta, names: names, in: &state)
    }
    return (packs, rehoming.conflicts)
  }
}
