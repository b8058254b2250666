internal import CairnMerge
internal import CairnStore

/// Puts the whole content of one store into another as ordinary local changes of that one: inserts
/// where it has no such record, so that they meet other devices' records of the same id as inserts
/// do.
///
/// Where it has the record, fields that only one side has are kept from both. A field that both
/// have goes by its rule, with what was there as the remote value; sums add up. What loses is
/// listed.
struct MigrationMerge {
  /// Pending changes are committed when they count with this.
  private static let batchBytes = 1 << 20

  let source: Store
  let target: Store
  private(set) var moved: MigrationReport.Moved

  init(id: String, source: Store, target: Store) {
    self.source = source
    self.target = target
    moved = MigrationReport.Moved(id: id)
  }

  mutating func run() throws(StoreError) {
    for table in try source.allTables() {
      for id in try source.query(table: table, []) {
        guard let fields = try source.fields(table: table, id: id) else { continue }
        try move(table, id, fields)
        moved.records += 1
        if target.totals.pending >= MigrationMerge.batchBytes { _ = try target.sync() }
      }
      // Rules hold once they are committed.
      _ = try target.sync()
    }
  }

  private mutating func move(
    _ table: String, _ id: RecordName, _ fields: [(String, FieldValue)]
  ) throws(StoreError) {
    // Lists are moved as whole values.
    guard let there = try target.fields(table: table, id: id) else {
      return try target.insert(table: table, id: id, fields.map { ($0.0, $0.1) })
    }
    moved.mergedRecords += 1
    var changes: [(field: String, value: FieldValue?)] = []
    for (field, value) in fields {
      guard let old = there.first(where: { $0.0 == field })?.1 else {
        changes.append((field, value))
        continue
      }
      let rule = Identifier.isReserved(table) ? .remote : target.rule(table: table, field: field)
      let (kept, lost) = MigrationMerge.resolve(rule, remote: old, local: value)
      if kept != old { changes.append((field, kept)) }
      guard let lost else { continue }
      moved.conflicts.append(
        MigrationReport.Conflict(
          table: table, record: RecordID(id), field: field, rule: ResolutionRule(rule),
          kept: Value(kept), lost: Value(lost)))
    }
    if !changes.isEmpty { try target.update(table: table, id: id, changes) }
  }

  private static func resolve(
    _ rule: Rule, remote: FieldValue, local: FieldValue
  ) -> (kept: FieldValue, lost: FieldValue?) {
    if rule == .sum, let a = Number(remote), let b = Number(local) {
      return (a.adding(b).value, nil)
    }
    if remote == local { return (remote, nil) }
    let order = FieldValue.ordered(local, remote)
    let takesLocal =
      switch rule {
      case .remote, .sum: false
      case .local: true
      case .max: order > 0
      case .min: order < 0
      }
    return takesLocal ? (local, remote) : (remote, local)
  }
}
