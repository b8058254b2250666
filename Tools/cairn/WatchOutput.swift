import Cairn
import CairnToolText

/// The lines of `watch`. Each is written at once and as a whole.
struct WatchOutput: Sendable {
  let report: ReportOptions
  /// Empty for all.
  let tables: Set<String>
  let datastore: Datastore

  func printStart() throws {
    try put(
      ["event": "watching", "datastore": .string(datastore.id)],
      "watching \(datastore.id); Ctrl-C ends it")
  }

  func print(_ change: DatastoreChange) throws {
    for (table, ids) in change.records.sorted(by: { $0.key < $1.key }) where isWanted(table) {
      for id in ids.sorted() { try print(table, id) }
    }
    for table in change.wholeTables.sorted() where isWanted(table) {
      try put(["event": "table", "table": .string(table)], "\(table)  any record")
    }
  }

  /// Tables of the library's own are not shown; the title, which is in one of them, is.
  private func isWanted(_ table: String) -> Bool {
    if table.hasPrefix(":") { return table == ":info" && tables.isEmpty }
    return tables.isEmpty || tables.contains(table)
  }

  private func print(_ table: String, _ id: RecordID) throws {
    if table.hasPrefix(":") {
      let title = try datastore.title
      return try put(
        ["event": "title", "title": .optional(title)],
        "title " + (title.map { JSON.string($0).text } ?? "removed"))
    }
    let name: JSON = ["table": .string(table), "id": .string(id.description)]
    guard let record = try datastore.table(table).record(id) else {
      return try put(name.adding("event", "deleted"), "\(table)  \(id)  deleted")
    }
    let fields = try record.fields
    let texts = JSON.members(fields).map { "\($0.name)=\($0.value.text)" }
    try put(
      name.adding("event", "changed").adding("fields", .object(JSON.members(fields))),
      "\(table)  \(id)  " + texts.joined(separator: " "))
  }

  func print(_ conflicts: [SyncResult.Conflict]) throws {
    for conflict in conflicts where isWanted(conflict.table) {
      try put(SyncSummary.json(conflict).adding("event", "conflict"), SyncSummary.line(conflict))
    }
  }

  /// Deletes of others that wait for consent, which nobody can give here meanwhile.
  func print(_ held: MassDelete) throws {
    let advice = "to take them, end this watch first (Ctrl-C)"
    try put(
      SyncSummary.json(held).adding("event", "held")
        .adding("message", .string(held.message + "; " + advice)),
      "held: \(held.message); \(advice)")
  }

  func print(newDevice id: String) throws {
    try put(
      ["event": "newDevice", "device": .string(id)], "this device goes on under a new id, \(id)")
  }

  /// A failure of the exchange or of the upkeep, or nil when there is none any more.
  func print(problem: CairnError?) throws {
    guard let problem else {
      return try put(["event": "recovered"], "it works again")
    }
    try put(
      [
        "event": "problem", "code": .string(problem.code.rawValue),
        "message": .string(problem.message),
      ],
      "problem: \(problem.message)")
  }

  private func put(_ document: JSON, _ text: String) throws {
    try Console.print(report.json ? document.text : text)
  }
}
