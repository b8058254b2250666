internal import CairnMerge
internal import CairnStore

/// Puts the whole content of one store into another as ordinary local changes of that one: inserts
/// where it has no such record, so that they meet other devices' records of the same id as inserts
/// do.
///
/// Where it has the record, fields that only one side has are kept from both. A field that both
/// have goes by its rule, with what was there as the remote value; sums add up, as long as a double
/// can hold them. What loses is listed. Lists that both have begun by editing become one.
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
    let lists = try begunLists(table, id, fields)
    let values = fields.filter { lists[$0.0] == nil }
    guard let there = try target.fields(table: table, id: id) else {
      try target.insert(table: table, id: id, values.map { ($0.0, $0.1) })
      for (field, items) in lists.sorted(by: { $0.key < $1.key }) {
        try target.edit(table: table, id: id, field: field, .insertAll(items, at: 0))
      }
      return
    }
    moved.mergedRecords += 1
    var changes: [(field: String, value: FieldValue?)] = []
    for (field, value) in fields {
      if let items = lists[field], let count = try count(table, id, field, there) {
        try target.edit(table: table, id: id, field: field, .insertAll(items, at: count))
        continue
      }
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

  /// The lists that were begun by editing: they are begun in the target, too, so that they become
  /// one with those that other devices have begun.
  private func begunLists(
    _ table: String, _ id: RecordName, _ fields: [(String, FieldValue)]
  ) throws(StoreError) -> [String: [FieldValue]] {
    var lists: [String: [FieldValue]] = [:]
    for (field, value) in fields {
      guard case .list(let items) = value,
        try source.isBegunList(table: table, id: id, field: field)
      else { continue }
      lists[field] = items
    }
    return lists
  }

  /// Where the items of a list go that was begun on both sides, or here only; nil if something else
  /// is there.
  private func count(
    _ table: String, _ id: RecordName, _ field: String, _ there: [(String, FieldValue)]
  ) throws(StoreError) -> Int? {
    guard let old = there.first(where: { $0.0 == field })?.1 else { return 0 }
    guard case .list(let items) = old,
      try target.isBegunList(table: table, id: id, field: field)
    else { return nil }
    return items.count
  }

  static func resolve(
    _ rule: Rule, remote: FieldValue, local: FieldValue
  ) -> (kept: FieldValue, lost: FieldValue?) {
    if rule == .sum, let a = Number(remote), let b = Number(local) {
      let sum = a.adding(b)
      // Beyond all doubles there is none: it would be neither of the two, and lose both.
      if sum.isFinite { return (sum.value, nil) }
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
