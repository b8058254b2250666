public import Cairn

/// One database of CouchDB as it was pulled: its documents, their attachments, and how many there
/// are. A handle by name, always showing what is there now. Thread-safe.
public struct CouchDBDatabase: Hashable, Sendable {
  /// The store that it is in.
  public let store: CouchDBStore
  /// What its tables are named after.
  public let name: String

  private static let endings = [".attachments", ".parts", ".waiting"]

  static func isValid(name: String) -> Bool {
    Table.isValid(name) && name.utf8.count <= 48 && !name.hasPrefix(":")
      && name != CouchDBStore.statesTable && !endings.contains(where: name.hasSuffix)
  }

  /// The table of its documents.
  public var table: Table {
    get throws(CairnError) { try store.datastore.table(name) }
  }
  var attachmentsTable: Table {
    get throws(CairnError) { try store.datastore.table(name + Self.endings[0]) }
  }
  var partsTable: Table {
    get throws(CairnError) { try store.datastore.table(name + Self.endings[1]) }
  }
  /// Documents that are known and not here.
  var waitingTable: Table {
    get throws(CairnError) { try store.datastore.table(name + Self.endings[2]) }
  }

  /// A new database takes over no records: a follower writes over and removes what it finds.
  func checkEmpty() throws(CairnError) {
    for table in [try table, try attachmentsTable, try partsTable, try waitingTable]
    where try table.count > 0 {
      throw CairnError(
        .exists,
        "the table \(table.id) has records that were not pulled from a server; follow the database "
          + "under another name than \(name)", id: table.id)
    }
  }

  /// Its address, if it is known.
  public var url: String? { get throws(CairnError) { try state?.url } }

  /// Up to where it was pulled; nil: nothing was yet. Opaque: only its server knows what it means.
  public var sequence: String? { get throws(CairnError) { try state?.since } }

  /// When the server had nothing new for the last time, by this device's clock.
  public var levelSince: Timestamp? { get throws(CairnError) { try state?.level } }

  // MARK: documents

  /// The documents that a query on their records finds, in its order; all of them, in no set
  /// order, for none.
  public func documents(matching query: Query = Query()) throws(CairnError) -> [CouchDBDocument] {
    try table.query(query).map { CouchDBDocument(database: self, record: $0) }
  }

  /// The documents of a type.
  public func documents(ofType type: String) throws(CairnError) -> [CouchDBDocument] {
    try documents(matching: Query().where(store.typeField, .equals(.string(type))))
  }

  /// The documents with a tag, of one type or of all.
  public func documents(
    tagged tag: String, ofType type: String? = nil
  ) throws(CairnError) -> [CouchDBDocument] {
    var query = Query().where(store.tagsField, .exists)
    if let type { query = query.where(store.typeField, .equals(.string(type))) }
    var found: [CouchDBDocument] = []
    for record in try table.query(query) {
      let tags = try record.get(store.tagsField)
      let isTagged =
        if case .list(let tags) = tags { tags.contains(.string(tag)) } else {
          tags == .string(tag)
        }
      if isTagged { found.append(CouchDBDocument(database: self, record: record)) }
    }
    return found
  }

  /// The documents whose parent is the one with this id.
  public func documents(parent: String) throws(CairnError) -> [CouchDBDocument] {
    try documents(matching: Query().where(store.parentField, .equals(.string(parent))))
  }

  /// The document of an id; nil if it is not here.
  public func document(_ id: String) throws(CairnError) -> CouchDBDocument? {
    try table.record(RecordID(DocumentID.record(id))).map {
      CouchDBDocument(database: self, record: $0)
    }
  }

  /// The types that documents have, sorted. A walk over all of them.
  public func documentTypes() throws(CairnError) -> [String] {
    var types: Set<String> = []
    for record in try table.query(Query().where(store.typeField, .exists)) {
      if let type = try record.string(store.typeField) { types.insert(type) }
    }
    return types.sorted()
  }

  // MARK: attachments

  /// Attachments whose contents are not here, or not those that the documents have now.
  public func staleAttachments() throws(CairnError) -> [CouchDBAttachment] {
    try attachmentsTable.query(["stale": true]).map {
      CouchDBAttachment(database: self, record: $0)
    }
  }

  /// How much there is. A walk over the tables.
  public func statistics() throws(CairnError) -> CouchDBStatistics {
    var statistics = CouchDBStatistics()
    statistics.documents = try table.count
    statistics.attachments = try attachmentsTable.count
    statistics.staleAttachments = try attachmentsTable.query(["stale": true]).count
    statistics.waitingDocuments = try waitingTable.count
    let conflicted = Query().where(DocumentField.conflicts, .exists)
    statistics.conflictedDocuments = try table.count(where: conflicted)
    return statistics
  }
}

/// How much a database has here.
public struct CouchDBStatistics: Hashable, Sendable {
  /// Documents that are here.
  public var documents = 0
  /// Their attachments, whether their contents are here or not.
  public var attachments = 0
  /// Those of them whose contents are not here, or are older.
  public var staleAttachments = 0
  /// Documents, or newer revisions of them, that the policy left on the server or that could not
  /// be had.
  public var waitingDocuments = 0
  /// Documents of which the server has revisions that lost.
  public var conflictedDocuments = 0

  /// Nothing.
  public init() {}
}
