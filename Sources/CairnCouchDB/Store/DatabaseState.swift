internal import Cairn

/// What is remembered of a database: its record in the table of databases.
struct DatabaseState: Equatable {
  var url: String?
  /// Where to go on; nil: at the beginning.
  var since: String?
  /// Which database it was on the server.
  var instance: String?
  /// Another database has taken its place: what that does not have is still to be removed.
  var isRecreated = false
  /// Everything that is here goes: a purge has begun, and may have ended on its way.
  var isEmptying = false
  /// Whose parts were being written, since they are too many for one delta.
  var writing: String?
  /// When the server had nothing new for the last time.
  var level: Timestamp?

  init() {}

  init(_ fields: [String: Value]) {
    func text(_ name: String) -> String? {
      if case .string(let text) = fields[name] { text } else { nil }
    }
    url = text("url")
    since = text("since")
    instance = text("instance")
    isRecreated = fields["recreated"] == .bool(true)
    isEmptying = fields["emptying"] == .bool(true)
    writing = text("writing")
    if case .date(let date) = fields["level"] { level = date }
  }

  var fields: [String: Value] {
    let all: [String: Value?] = [
      "url": url.map(Value.string), "since": since.map(Value.string),
      "instance": instance.map(Value.string), "recreated": isRecreated ? .bool(true) : nil,
      "emptying": isEmptying ? .bool(true) : nil, "writing": writing.map(Value.string),
      "level": level.map(Value.date),
    ]
    return all.compactMapValues(\.self)
  }
}

extension CouchDBDatabase {
  /// Nil if there is no such database (any more).
  var state: DatabaseState? {
    get throws(CairnError) {
      let record = try store.datastore.table(CouchDBStore.statesTable).record(RecordID(name))
      return try record.map { record throws(CairnError) in DatabaseState(try record.fields) }
    }
  }

  /// A place on one server says nothing on another, and many servers do not say which database
  /// they have.
  func check(_ state: DatabaseState, isAt url: String) throws(CairnError) {
    guard state.url == url else {
      throw CairnError(
        .invalidOperation, "the address of the database \(name) was changed; make a new follower",
        id: name)
    }
  }

  /// Notes it; the next commit makes it durable.
  func keep(_ state: DatabaseState) throws(CairnError) {
    try put(store.datastore.table(CouchDBStore.statesTable), name, state.fields)
  }

  /// Makes a record have these fields and no others, as one change.
  func put(_ table: Table, _ id: String, _ fields: [String: Value]) throws(CairnError) {
    let id = RecordID(id)
    guard let record = try table.record(id) else {
      try table.insert(fields: fields, id: id)
      return
    }
    let old = try record.fields
    var changes: [String: Value?] = [:]
    for (name, value) in fields where old[name].map(value.isExactly) != true {
      changes[name] = value
    }
    for name in old.keys where fields[name] == nil { changes.updateValue(nil, forKey: name) }
    if !changes.isEmpty { try record.update(changes) }
  }
}
