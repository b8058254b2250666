import CairnMerge

/// Deltas that were made on a history of another device which has lost. What they name of it is not
/// here, or is something else: such a name is a delta and a number, and the history that has won
/// counts its deltas alike. The other copy commits its own anew, under names that nobody can know
/// yet.
///
/// So what edits of lists say of such items is left out, and new items that hang on them go to the
/// end of the list. A record that was made after such a delete was born after the first of these
/// deltas that says so: whoever has seen that one can delete it.
struct Rehoming {
  let isStrange: (Dot) -> Bool
  private(set) var conflicts: [SyncOutcome.Conflict] = []
  /// Fields where there was no list: neither are the items there that later edits name.
  private var homeless: Set<Place> = []
  /// What counts for the deletes that records were born after.
  private var births: [Birth: Dot] = [:]

  private typealias Place = CommonBranch.FieldName

  private struct Birth: Hashable {
    var table: String
    var record: RecordName
    var delete: Dot
  }

  init(isStrange: @escaping (Dot) -> Bool) { self.isStrange = isStrange }

  /// The delta with a home for its edits.
  mutating func rewrite(
    _ delta: Delta, names: [RecordName], in state: inout StoreState
  ) throws(StoreError) -> Delta {
    var new = delta
    for section in delta.sections {
      moveBirths(of: delta, section, names, into: &new)
      try moveEdits(of: delta, section, names, in: &state, into: &new)
    }
    return new
  }

  private mutating func moveBirths(
    of delta: Delta, _ section: Delta.Section, _ names: [RecordName], into new: inout Delta
  ) {
    if delta.born.isEmpty { return }
    for row in section.records {
      guard let born = delta.born[row], born.contains(where: isStrange) else { continue }
      let record = names[Int(delta.records[row].reference)]
      var dots: Set<Dot> = []
      for dot in born {
        guard isStrange(dot) else {
          dots.insert(dot)
          continue
        }
        let birth = Birth(table: section.table, record: record, delete: dot)
        let first = births[birth] ?? delta.dot
        births[birth] = first
        dots.insert(first)
      }
      new.born[row] = dots.sorted()
    }
  }

  private mutating func moveEdits(
    of delta: Delta, _ section: Delta.Section, _ names: [RecordName],
    in state: inout StoreState, into new: inout Delta
  ) throws(StoreError) {
    let columns = delta.columns[section.columns].filter { $0.operation == .edit }
    func find(_ cell: Int, _ column: Delta.Column) -> Place {
      let reference = Int(delta.records[Int(delta.rows[cell])].reference)
      return Place(table: section.table, record: names[reference], field: column.field)
    }
    var rows: [UInt32: RecordState] = [:]
    for column in columns {
      for cell in column.cells {
        guard let edit = delta.edits[cell] else { continue }
        let place = find(cell, column)
        guard edit.names(isStrange) || homeless.contains(place) else { continue }
        rows[delta.rows[cell]] = try state.fullState(state.table(section.table), place.record)
      }
    }
    if rows.isEmpty { return }
    let known = state.edits(of: delta, section, rows) { $0.forgetting(isStrange) }
    for column in columns {
      let rule = state.rules.rule(table: section.table, field: column.field)
      for cell in column.cells {
        let place = find(cell, column)
        guard known[cell] != delta.edits[cell] || homeless.contains(place),
          let record = rows[delta.rows[cell]]
        else { continue }
        // Else another one does what it did.
        var edit = known[cell] ?? ListEdit()
        if let homed = record.register(column.field).homed(edit, rule) {
          edit = homed
        } else {
          // There is no list that the items could be put into.
          homeless.insert(place)
          let items = edit.newItems
          if !items.isEmpty {
            conflicts.append(SyncOutcome.Conflict(place, leftOut: .list(items), of: delta))
          }
        }
        new.edits[cell] = edit
      }
    }
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
