import CairnMerge
import CairnStore
import TestSupport

/// What went wrong, in few words.
struct Difference: Error, CustomStringConvertible {
  var description: String

  static func demand(_ holds: Bool, _ text: @autoclosure () -> String) throws {
    if !holds { throw Difference(description: text()) }
  }
}

/// Comparing stores with the reference and with one another.
extension StoreSimulation {
  /// A device shows what the reference makes of the deltas that the device has seen. Changes that
  /// are not committed are committed first.
  func check(_ number: Int) throws {
    // What is pending is found like anything else.
    try checkIndexes(devices[number].store, try StoreContent(devices[number].store))
    try commit(number)
    let store = devices[number].store
    let shown = try StoreContent(store)
    let wanted = try expected(store.vector)
    try Difference.demand(
      shown == wanted, "\(number) is wrong: \(shown.differences(from: wanted))")
    let totals = store.totals
    try Difference.demand(
      totals == (shown.size, shown.recordCount, 0),
      "\(number) counts \(totals), not \(shown.size) and \(shown.recordCount)")
    for (table, records) in shown.tables {
      let count = try store.count(table: table)
      try Difference.demand(count == records.count, "\(number) counts \(count) in \(table)")
      for (id, fields) in records {
        let size = try store.size(table: table, id: RecordName(id))
        try Difference.demand(size == StoreContent.size(fields), "\(table)/\(id) counts \(size)")
      }
    }
    try checkQueries(store, shown)
    try checkIndexes(store, shown)
  }

  /// Any query finds, with indexes that have lived through all this, what a filter and a sort find.
  private func checkIndexes(_ store: Store, _ shown: StoreContent) throws {
    for table in Self.tables {
      let records = shown.tables[table] ?? [:]
      let values = records.values.flatMap(\.values) + [.int(1), .double(-0.0), .string("lo")]
      for _ in 0..<4 {
        let query = RecordQuery.random(random, fields: Self.fields, values: values)
        let mistake = try store.mistake(table: table, query, records)
        try Difference.demand(mistake == nil, "\(table): \(mistake ?? "")")
      }
    }
    let index = IndexName(table: Self.tables[0], field: Self.fields[random.below(3)])
    if random.below(5) > 0 { try store.addIndex(index) } else { try store.removeIndex(index) }
  }

  /// Queries find what a filter over everything finds.
  private func checkQueries(_ store: Store, _ shown: StoreContent) throws {
    for (table, records) in shown.tables where !table.hasPrefix(":") {
      for field in Self.fields {
        let values = Set(records.values.compactMap { $0[field] } + [.int(1), .double(-0.0)])
        for value in values {
          let found = try store.query(table: table, [(field, value)]).map(\.text)
          let wanted = records.filter { $0.value[field]?.matches(value) ?? false }.keys
          try Difference.demand(
            found.sorted() == wanted.sorted(), "\(table).\(field) = \(value) finds \(found)")
        }
      }
    }
  }

  private func expected(_ seen: VersionVector) throws -> StoreContent {
    let reference = ReferenceHistory(history)
    var rules: [String: [String: FieldValue]] = [:]
    for record in Self.tables + [":default"] {
      let view = reference.view(":rules/" + record, seen: seen)
      guard view.exists else { continue }
      rules[record] = [:]
      for field in Self.fields + [":rule"] {
        rules[record]?[field] = view.visible(field, rule: .local)
      }
    }
    var result = StoreContent()
    if !rules.isEmpty { result.tables[":rules"] = rules }
    for table in Self.tables {
      for record in Self.records {
        let view = reference.view(table + "/" + record, seen: seen)
        guard view.exists else { continue }
        var fields: [String: FieldValue] = [:]
        for field in Self.fields {
          let rule = rules[table]?[field] ?? rules[":default"]?[":rule"] ?? .int(0)
          fields[field] = view.visible(field, rule: Self.rule(rule))
        }
        result.tables[table, default: [:]][record] = fields
      }
    }
    return result
  }

  private static func rule(_ value: FieldValue) -> Rule {
    guard case .int(let code) = value, let rule = Rule(rawValue: UInt8(code)) else {
      return .remote
    }
    return rule
  }

  /// What looks different after a sync is in its report.
  func checkReport(
    _ outcome: SyncOutcome, before: StoreContent, after: StoreContent
  ) throws {
    let tables = Set(before.tables.keys).union(after.tables.keys)
    for table in tables {
      let (old, new) = (before.tables[table] ?? [:], after.tables[table] ?? [:])
      for id in Set(old.keys).union(new.keys) where old[id] != new[id] {
        // A rule that came with the deltas decides records anew that no delta touched.
        let hasNewRules = before.tables[":rules"] != after.tables[":rules"]
        try Difference.demand(
          hasNewRules
            || outcome.changed.contains { $0.table == table && $0.id.text == id },
          "\(table)/\(id) is not reported")
      }
    }
    for change in outcome.changed {
      let exists = after.tables[change.table]?[change.id.text] != nil
      try Difference.demand(change.isDeleted != exists, "\(change) is reported")
    }
    let keys = Set(outcome.changed.map { "\($0.table)/\($0.id.text)" })
    try Difference.demand(keys.count == outcome.changed.count, "a record is reported twice")
  }

  /// All devices have everything: they must not differ in anything.
  func checkConvergence() throws {
    for number in devices.indices { try check(number) }
    let first = devices[0].store
    for device in devices {
      try Difference.demand(device.store.vector == first.vector, "vectors differ")
      _ = try device.store.compact()
    }
    let bytes = devices.map { $0.snapshotBytes() }
    for (number, other) in bytes.enumerated() where other != bytes[0] {
      let (mine, theirs) = (try snapshotRows(devices[0]), try snapshotRows(devices[number]))
      let differences = Set(mine).symmetricDifference(theirs).sorted()
      throw Difference(
        description: "snapshots of 0 and \(number) differ in \(differences.count) rows\n"
          + differences.joined(separator: "\n"))
    }
    for number in devices.indices {
      try check(number)
      try devices[number].reopen()
      try Difference.demand(devices[number].store.recovery.isEmpty, "\(number) had to recover")
      try check(number)
    }
  }
}
