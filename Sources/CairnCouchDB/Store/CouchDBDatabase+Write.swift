internal import Cairn

/// What a follower writes. A document's own record comes last, after its parts and its attachments:
/// its revision says that all of it is here, whoever commits in between.
extension CouchDBDatabase {
  /// Whether what is here is what a row of changes speaks of.
  func isLevel(_ id: String, leaves: [String]) throws(CairnError) -> Bool {
    let record = try table[RecordID(DocumentID.record(id))]
    guard let revision = try record.string(DocumentField.revision) else { return false }
    return try record.string(DocumentField.leaves) ?? revision == Self.mark(of: leaves)
  }

  /// What stands for all leaves of a document: the one, or all, or a hash of very many.
  static func mark(of leaves: [String]) -> String {
    let text = leaves.joined(separator: ",")
    return text.utf8.count <= 1024 ? text : "#" + DocumentID.hash(text)
  }

  /// Bytes that a record may take: several fit between two commits.
  var recordMax: Int {
    let limits = store.datastore.manager.options.limits
    return max(1024, min(limits.recordBytes, limits.deltaBytes / 4))
  }

  /// Bytes of texts that a record holds besides a document's members: its id and revisions; the
  /// name and the type of an attachment. CouchDB knows no bound for them.
  var textMax: Int { recordMax / 8 }

  /// Whether records can hold what a row says.
  func fits(_ row: ChangesPage.Row) -> Bool {
    row.leaves.prefix(Self.leavesMax).reduce(row.id.utf8.count) { $0 + $1.utf8.count } <= textMax
  }

  /// Leaves that a document has at most while it waits.
  static let leavesMax = 16

  /// Keeps a document in the place of what was there of it; returns its revision.
  ///
  /// - Parameters:
  ///   - leaves: Those that the row of changes named.
  ///   - note: Called with what had to be left out.
  func write(
    _ document: JSONText, leaves: [String], note: (String) -> Void = { _ in }
  ) throws(CairnError) -> String {
    guard let id = try document.member("_id")?.string,
      let revision = try document.member("_rev")?.string
    else {
      throw CairnError(.response, "a document came without an id or a revision")
    }
    let key = DocumentID.record(id)
    let limit = recordMax
    let mapping = try DocumentMapping(
      document, room: limit / 2, first: [store.typeField, store.parentField])
    var fields: [String: Value] = [:]
    for (name, value) in mapping.fields { fields[name] = value }
    fields[DocumentField.revision] = .string(revision)
    if key != id { fields[DocumentField.id] = .string(id) }
    if leaves.count > 1, leaves.contains(revision) {
      fields[DocumentField.leaves] = .string(Self.mark(of: leaves))
    }
    let conflicts = try document.member("_conflicts")?.items().count ?? 0
    if conflicts > 0 { fields[DocumentField.conflicts] = .int(Int64(conflicts)) }
    let stubs = try AttachmentStub.all(of: document).filter { stub in
      let fits = stub.textBytes <= textMax
      if !fits {
        note(
          "the attachment \(stub.name.prefix(64))… of \(id) is left out: its name and type have "
            + "more than the \(textMax) bytes that a record has for them")
      }
      return fits
    }
    if !stubs.isEmpty { fields[DocumentField.attachments] = .int(Int64(stubs.count)) }
    let old = try table.record(RecordID(key))
    let oldParts = try old.map { old throws(CairnError) in try parts(of: old, id) } ?? []
    if let rest = mapping.rest {
      // A text, where it fits into the record; else bytes in several records.
      let used = fields.values.reduce(Limits.recordBaseSize) {
        $0 + Limits.fieldBaseSize + $1.size
      }
      if used + Limits.fieldBaseSize + rest.count <= limit {
        fields[DocumentField.json] = .string(String(decoding: rest, as: UTF8.self))
      } else {
        let count = try write(parts: rest, id, revision, size: limit / 2)
        fields[DocumentField.parts] = .int(Int64(count))
      }
    }
    try makeRoom(2 * limit)
    // Even where there are to be none: a pull may have ended between the attachments of another
    // revision and its record.
    try write(stubs, id, key)
    try makeRoom(2 * limit)
    try put(table, key, fields)
    let kept = Set(try parts(of: table[RecordID(key)], id))
    for part in oldParts where !kept.contains(part) { try delete(partsTable, part) }
    try delete(waitingTable, key)
    return revision
  }

  /// Removes a document with all that belongs to it; returns whether it was here.
  @discardableResult
  func remove(document id: String) throws(CairnError) -> Bool {
    try remove(key: DocumentID.record(id), id: id)
  }

  func remove(key: String, id: String) throws(CairnError) -> Bool {
    try delete(waitingTable, key)
    // Even without a record: a pull may have ended between its attachments and it.
    for attachment in try attachments(key: key) { try delete(attachment) }
    guard let record = try table.record(RecordID(key)) else { return false }
    let parts = try parts(of: record, id)
    try makeRoom(1024)
    try record.delete()
    // After the record: without it, they are nobody's.
    for part in parts { try delete(partsTable, part) }
    return true
  }

  // MARK: parts

  private func parts(of record: Record, _ id: String) throws(CairnError) -> [String] {
    guard let count = try record.int(DocumentField.parts),
      let revision = try record.string(DocumentField.revision)
    else { return [] }
    let prefix = DocumentID.parts(id, revision)
    var parts: [String] = []
    // Whatever the count says, others may have written it. One that is lost may lie between.
    var missing = 0
    for number in 0..<min(max(0, count), CouchDBDatabase.partsMost) {
      let part = prefix + String(number)
      if try partsTable.record(RecordID(part)) != nil {
        parts.append(part)
      } else {
        missing += 1
        if missing == 16 { break }
      }
    }
    return parts
  }

  /// More parts than any document has.
  private static let partsMost: Int64 = 1 << 20

  /// What a document's record, which has these fields, can't hold of it; nil if there is nothing.
  func rest(
    _ fields: [String: Value], _ id: String, _ revision: String
  ) throws(CairnError) -> [UInt8]? {
    if case .string(let text) = fields[DocumentField.json] { return Array(text.utf8) }
    guard case .int(let count) = fields[DocumentField.parts] else { return nil }
    guard count <= CouchDBDatabase.partsMost else {
      throw CairnError(
        .corrupt, "the document \(id) says that it has \(count) parts; purge the database and pull "
          + "it again", id: id)
    }
    let prefix = DocumentID.parts(id, revision)
    var rest: [UInt8] = []
    for number in 0..<max(0, count) {
      let part = prefix + String(number)
      guard let bytes = try partsTable[RecordID(part)].bytes("bytes") else {
        throw CairnError(
          .corrupt, "a part of the document \(id) is missing; purge the database and pull it again",
          id: id)
      }
      rest += bytes
    }
    return rest
  }

  private func write(
    parts rest: [UInt8], _ id: String, _ revision: String, size: Int
  ) throws(CairnError) -> Int {
    let prefix = DocumentID.parts(id, revision)
    // A commit may come between: should we end on the way, the next pull clears them away.
    if var state = try state {
      state.writing = prefix + " " + DocumentID.record(id)
      try keep(state)
    }
    var count = 0
    for start in stride(from: 0, to: rest.count, by: size) {
      let piece = Array(rest[start..<min(start + size, rest.count)])
      try makeRoom(size + 1024)
      try put(partsTable, prefix + String(count), ["bytes": .bytes(piece)])
      count += 1
    }
    return count
  }

  /// Removes what a purge left that ended on its way, or parts that no document's record names,
  /// since a pull ended while it wrote them.
  func clearUnfinished() throws(CairnError) {
    guard var state = try state else { return }
    if state.isEmptying { return try empty() }
    guard let writing = state.writing else { return }
    let words = writing.split(separator: " ").map(String.init)
    state.writing = nil
    if words.count == 2 {
      let record = try table[RecordID(words[1])]
      let id = try record.string(DocumentField.id) ?? words[1]
      let kept = Set(try parts(of: record, id))
      for part in try partsTable.query() {
        let name = part.id.description
        if name.hasPrefix(words[0]), !kept.contains(name) { try delete(partsTable, name) }
      }
    }
    try keep(state)
    try store.datastore.sync()
  }

  // MARK: small steps

  func delete(_ table: Table, _ id: String) throws(CairnError) {
    if let record = try table.record(RecordID(id)) { try delete(record) }
  }

  func delete(_ record: Record) throws(CairnError) {
    try makeRoom(1024)
    try record.delete()
  }

  /// Commits what there is, if so many bytes more would be too much for one delta.
  func makeRoom(_ bytes: Int) throws(CairnError) {
    let datastore = store.datastore
    let limit = datastore.manager.options.limits.deltaBytes
    if datastore.unsyncedChangesSize > Limits.unsyncedChangesBaseSize,
      datastore.unsyncedChangesSize + bytes > limit
    {
      try datastore.sync()
    }
  }
}
