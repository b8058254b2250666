import Cairn
import CairnToolText

/// Puts rows into a table: all of them are read and checked, against each other and against the
/// datastore's limits, before the first one is written. More than fits into one delta becomes
/// several commits, of which the first ones stay if it ends between two.
struct Importer {
  /// How many rows did what.
  struct Counts {
    var rows = 0
    var inserted = 0
    var updated = 0
    var unchanged = 0
    var commits = 0
    /// Rows, from the first on, that are committed.
    var committed = 0
    /// Rows that came without an id, and got one.
    var withoutID = 0
  }

  let table: Table
  let limits: Limits
  var progress: Progress

  /// Checks the rows by themselves, without a datastore.
  static func check(_ rows: some RowReader) throws {
    var rows = rows
    var seen: Set<String> = []
    while let row = try rows.next() {
      if let id = row.id, !seen.insert(id).inserted {
        throw SyntaxError(offset: row.offset, message: "an earlier row has the id \(id), too")
      }
    }
  }

  /// Checks that the datastore has room for the rows.
  mutating func checkLimits(_ rows: some RowReader, total: Int) throws {
    var rows = rows
    var bytes = table.datastore.size
    var records = table.datastore.recordCount
    while let row = try rows.next() {
      progress.update(row.offset / 2, of: total)
      let record = try row.id.flatMap { id in try table.record(RecordID(id)) }
      let existing = try record?.fields ?? [:]
      let before = record == nil ? 0 : size(of: existing)
      let merged = row.absent.reduce(into: existing.merging(row.fields) { $1 }) { $0[$1] = nil }
      let after = size(of: merged)
      guard after <= max(limits.recordBytes, before) else {
        throw SyntaxError(
          offset: row.offset,
          message: "a record of \(after) bytes; the limit is \(limits.recordBytes)")
      }
      bytes += after - before
      records += record == nil ? 1 : 0
      if after > before { try checkTotals(bytes: bytes, records: records) }
    }
  }

  /// The datastore refuses what makes it grow beyond a limit, whatever rows behind it make smaller.
  private func checkTotals(bytes: Int, records: Int) throws {
    let advice = "nothing was imported; --limits large makes room, on every device"
    if bytes > limits.datastoreBytes {
      throw ToolError(
        .failure, "sizeLimit",
        "the datastore would hold \(bytes) bytes, its limit is \(limits.datastoreBytes): \(advice)")
    }
    if records > max(limits.recordCount, table.datastore.recordCount) {
      throw ToolError(
        .failure, "sizeLimit",
        "the datastore would hold \(records) records, its limit is \(limits.recordCount): \(advice)"
      )
    }
  }

  /// Writes rows that were checked, in as few commits as the limit of a delta allows.
  mutating func write(_ rows: some RowReader, total: Int) throws -> Counts {
    var counts = Counts()
    do {
      try write(rows, total: total, &counts)
    } catch var error as CairnError where counts.commits > 0 {
      // Only the disk can stop an import that was checked.
      let advice =
        counts.withoutID == 0
        ? "import the same again in the same way to complete it"
        : "the first \(counted(counts.committed, "row")) are there, and those without an id would "
          + "be inserted once more: import what comes after them"
      error.message += " (\(counted(counts.commits, "commit")) of this import stayed; \(advice))"
      throw error
    }
    progress.end()
    return counts
  }

  private mutating func write(
    _ rows: some RowReader, total: Int, _ counts: inout Counts
  ) throws {
    var rows = rows
    while let row = try rows.next() {
      progress.update((total + row.offset) / 2, of: total)
      let cost =
        Limits.changeBaseSize + size(of: row.fields) + row.absent.count * Limits.fieldBaseSize
      if table.datastore.unsyncedChangesSize + cost > limits.deltaBytes { try commit(&counts) }
      try write(row, &counts)
      counts.rows += 1
    }
    try commit(&counts)
  }

  private func commit(_ counts: inout Counts) throws {
    if try table.datastore.sync().committed { counts.commits += 1 }
    counts.committed = counts.rows
  }

  private func write(_ row: ImportRow, _ counts: inout Counts) throws {
    if row.id == nil { counts.withoutID += 1 }
    let id = row.id.map { RecordID($0) } ?? .random()
    let (record, inserted) = try table.getOrInsert(id, fields: row.fields)
    guard !inserted else {
      counts.inserted += 1
      return
    }
    let existing = try record.fields
    var changes: [String: Value?] = [:]
    for (field, value) in row.fields where existing[field]?.isIdentical(to: value) != true {
      changes.updateValue(value, forKey: field)
    }
    for field in row.absent where existing[field] != nil { changes.updateValue(nil, forKey: field) }
    if changes.isEmpty {
      counts.unchanged += 1
    } else {
      try record.update(changes)
      counts.updated += 1
    }
  }

  private func size(of fields: [String: Value]) -> Int {
    fields.values.reduce(Limits.recordBaseSize) { $0 + Limits.fieldBaseSize + $1.size }
  }
}

extension Value {
  /// Whether a datastore would store the same bytes: `==` on strings is looser (it takes "é" in
  /// one character and in two for the same), and -0.0 differs from 0.0.
  func isIdentical(to other: Value) -> Bool {
    switch (self, other) {
    case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
    case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern || (a.isNaN && b.isNaN)
    case (.list(let a), .list(let b)):
      a.count == b.count && zip(a, b).allSatisfy { $0.isIdentical(to: $1) }
    default: self == other
    }
  }
}
