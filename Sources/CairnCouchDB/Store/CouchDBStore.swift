public import Cairn

/// Databases of CouchDB that are followed into one datastore, each in tables of its own.
///
/// The tables of a database `notes` are `notes` with a record for each document, and beside it
/// `notes.attachments`, `notes.parts` and `notes.waiting`; the table `couchdb` has a record for
/// each database. They are ordinary tables: queries, indexes and observers work on them. Only a
/// follower should write there: what it finds changed on the server it writes over. Thread-safe.
public struct CouchDBStore: Hashable, Sendable {
  /// Where everything is kept.
  public let datastore: Datastore
  /// The member that says of what type a document is.
  public var typeField: String
  /// The member that has the id of a document's parent.
  public var parentField: String
  /// The member that has a document's tags: a list of texts, or one text.
  public var tagsField: String

  static let statesTable = "couchdb"

  /// The databases in a datastore. Touches nothing.
  public init(
    _ datastore: Datastore, typeField: String = "type", parentField: String = "parent_id",
    tagsField: String = "tags"
  ) {
    self.datastore = datastore
    self.typeField = typeField
    self.parentField = parentField
    self.tagsField = tagsField
  }

  /// A database by name, noted durably if it is new; an address that is given replaces the one that
  /// was noted. The next pull from another address lists all that is there, fetches what is
  /// different, and removes what is not there. Followers of the old address end then with
  /// `invalidOperation`: make a new one.
  ///
  /// - Parameters:
  ///   - name: Names its tables: 1 to 48 characters that may be in a table's id.
  ///   - url: `https://host:6984/database`; plain http for this machine itself only. Never a
  ///     password in it.
  /// - Throws: `illegalArgument` for a bad name or address; `exists` if it is new and one of its
  ///   tables has records already, which are somebody else's; errors of the disk.
  @discardableResult
  public func database(_ name: String, url: String? = nil) throws(CairnError) -> CouchDBDatabase {
    guard CouchDBDatabase.isValid(name: name) else {
      throw CairnError(
        .illegalArgument,
        "\"\(name)\" can't name a database here: 1 to 48 characters of those that "
          + "a table's id has, not \"\(CouchDBStore.statesTable)\", and without the endings of the "
          + "tables beside it", id: name)
    }
    let database = CouchDBDatabase(store: self, name: name)
    var state = try database.state
    let isNew = state == nil
    var kept = state ?? DatabaseState()
    if let url { kept.url = try CouchAddress(url).text }
    if let old = state?.url, old != kept.url {
      // Places on one server say nothing on another: all is listed.
      (kept.since, kept.instance, kept.isRecreated) = (nil, nil, true)
    }
    if isNew { try database.checkEmpty() }
    if isNew || kept.url != state?.url {
      state = kept
      try database.keep(kept)
      try datastore.sync()
    }
    return database
  }

  /// All databases, by name.
  public func databases() throws(CairnError) -> [CouchDBDatabase] {
    try datastore.table(CouchDBStore.statesTable).query().map { record in
      CouchDBDatabase(store: self, name: record.id.description)
    }.sorted { $0.name < $1.name }
  }

  /// Removes all databases with all that was pulled. Durable when it returns.
  ///
  /// A follower that waits for news of one ends with `invalidOperation`.
  ///
  /// - Throws: `invalidOperation` while one of them is being pulled; errors of the disk.
  public func destroy() throws(CairnError) {
    for database in try databases() { try database.destroy() }
  }
}
