internal import CairnBytes
internal import CairnMerge
internal import CairnStore

/// Where the book is kept: in tables of the library's own in the datastore of the objects, so that
/// it changes with them, as one delta.
///
/// | table | a record for | fields |
/// |---|---|---|
/// | `:map.state` | the store, as `state` | `format`, `installation`, `version` |
/// | `:map.routes` | each route | `device:sequence` texts in `vector`; `mapped`, `absent` tables |
/// | `:map.sets` | each change set | `id`, `route`; later `device`, `sequence`, `published` |
/// | `:map.changes` | each change in one | `set`, `kind`, `fields`, and of what: below |
/// | `:map.originals` | the same, if there is anything | the fields as they were, or go along |
/// | `:map.homes` | each object that has a record | `route`, `table`, `record` if not of its id |
/// | `:map.links` | each link | `table`, `object`; `route`, `record`, `detached` |
/// | `:map.unread` | each record that is not followed | `route`, `table`, `record` |
///
/// A change names its object (`table`, `object`) and its record (`recordTable`, `record`). Links
/// and homes are named by the hash of table and object, unread records by that of all they say.
extension MappingBook {
  enum Place {
    static let state = ":map.state"
    static let routes = ":map.routes"
    static let batches = ":map.sets"
    static let entries = ":map.changes"
    static let originals = ":map.originals"
    static let links = ":map.links"
    static let homes = ":map.homes"
    static let unread = ":map.unread"
    /// In a datastore that syncs: by installation, the sets that were committed last.
    static let sent = ":map.sent"
  }

  private static let stateRecord = RecordName("state")

  /// The number of this form. What is of a higher one is left alone.
  static let format: Int64 = 1

  // MARK: reading

  /// - Throws: `needsNewerVersion` for rows of a newer form; `corrupt` for one that can't be read:
  ///   what is pending must not be taken for less than it is.
  init(_ store: Store) throws(CairnError) {
    self.init()
    let state = try wrapped { () throws(StoreError) in
      try store.fields(table: Place.state, id: MappingBook.stateRecord)
    }
    if let state { try load(state: ObjectFields(state)) } else { hasChangedState = true }
    try loadRoutes(store)
    try loadQueue(store)
    for (name, fields) in try MappingBook.all(Place.links, store) {
      guard let table = fields.text("table"), let object = fields.text("object") else {
        throw MappingBook.unreadable(Place.links, name)
      }
      load(
        Link(
          route: fields.text("route"), record: fields.text("record").map { RecordID($0) },
          isDetached: fields.integer("detached") != 0),
        of: RowKey(table: table, id: RecordID(object)))
    }
    for (name, fields) in try MappingBook.all(Place.unread, store) {
      guard let route = fields.text("route"), let table = fields.text("table"),
        let record = fields.text("record")
      else { throw MappingBook.unreadable(Place.unread, name) }
      load(unread: RecordPlace(route: route, table: table, record: RecordID(record)))
    }
    guard state != nil || followed.isEmpty && outbox.batches.isEmpty && links.isEmpty else {
      throw MappingBook.unreadable(Place.state, MappingBook.stateRecord)
    }
  }

  private mutating func load(state: ObjectFields) throws(CairnError) {
    let format = state.integer("format")
    guard format <= MappingBook.format else {
      throw CairnError(
        .needsNewerVersion, "what is pending of the objects was written in form \(format) by a "
          + "newer version of the library, and this one knows forms up to \(MappingBook.format); "
          + "open the object store with the newer one")
    }
    guard format > 0, let text = state.text("installation") else {
      throw MappingBook.unreadable(Place.state, MappingBook.stateRecord)
    }
    version = state.text("version")
    installation = RecordID(text)
  }

  private mutating func loadRoutes(_ store: Store) throws(CairnError) {
    for (name, fields) in try MappingBook.all(Place.routes, store) {
      let (vector, mapped) = (fields.texts("vector"), fields.texts("mapped"))
      let absent = fields.texts("absent")
      let following = Following(
        vector: VersionVector(vector.compactMap(MappingBook.dot)),
        mapped: Set(mapped.compactMap { MappedTables($0) }),
        absent: Set(absent.compactMap { MappedTables($0) }))
      guard vector.allSatisfy({ MappingBook.dot($0) != nil }),
        (mapped + absent).allSatisfy({ MappedTables($0) != nil })
      else { throw MappingBook.unreadable(Place.routes, name) }
      followed[name.text] = following
    }
  }

  private mutating func loadQueue(_ store: Store) throws(CairnError) {
    for (name, fields) in try MappingBook.all(Place.batches, store) {
      guard let number = UInt64(name.text, radix: 16), let id = fields.text("id"),
        let route = fields.text("route")
      else { throw MappingBook.unreadable(Place.batches, name) }
      var batch = OutboxBook.Batch(number: number, id: RecordID(id), route: route)
      batch.device = fields.text("device") ?? ""
      batch.sequence = UInt64(clamping: fields.integer("sequence"))
      batch.isPublished = fields.integer("published") != 0
      outbox.load(batch)
    }
    let originals = Dictionary(try MappingBook.all(Place.originals, store)) { first, _ in first }
    for (name, fields) in try MappingBook.all(Place.entries, store) {
      guard let entry = OutboxBook.Entry(name, fields, originals[name] ?? [:]),
        outbox.batches[entry.batch] != nil
      else { throw MappingBook.unreadable(Place.entries, name) }
      outbox.load(entry)
    }
  }

  private static func unreadable(_ table: String, _ name: RecordName) -> CairnError {
    CairnError(
      .corrupt, "the record \(name.text) of the table \(table), in which an object store keeps "
        + "what is pending, can't be read; open it with the version of the app that wrote it, or "
        + "put the directory of the objects back from a copy", id: name.text)
  }

  private static func all(
    _ table: String, _ store: Store
  ) throws(CairnError) -> [(RecordName, ObjectFields)] {
    try wrapped { () throws(StoreError) in
      var result: [(RecordName, ObjectFields)] = []
      for name in try store.query(table: table, []) {
        if let fields = try store.fields(table: table, id: name) {
          result.append((name, ObjectFields(fields)))
        }
      }
      return result
    }
  }

  private static func dot(_ text: String) -> Dot? {
    let parts = text.split(separator: ":")
    guard parts.count == 2, let device = UInt64(parts[0], radix: 16),
      let sequence = UInt64(parts[1])
    else { return nil }
    return Dot(device: DeviceID(rawValue: device), sequence: sequence)
  }

  // MARK: writing

  /// Writes what has changed into the datastore; its next commit has it.
  mutating func store(in store: Store, limits: CairnMerge.Limits) throws(StoreError) {
    outbox.dropEmpty()
    if hasChangedState {
      var state: ObjectFields = [
        "format": .int(MappingBook.format), "installation": .string(installation.description),
      ]
      if let version { state["version"] = .string(version) }
      try MappingBook.put(state, Place.state, MappingBook.stateRecord, store, limits)
    }
    for route in changedRoutes.sorted() {
      let fields = followed[route]?.fields
      try MappingBook.put(fields, Place.routes, RecordName(route), store, limits)
    }
    for number in outbox.changedBatches.sorted() {
      let fields = outbox.batches[number]?.fields
      try MappingBook.put(fields, Place.batches, MappingBook.name(number), store, limits)
    }
    for number in outbox.changedEntries.sorted() {
      let entry = outbox.entries[number]
      let name = MappingBook.name(number)
      try MappingBook.put(entry?.fieldsStored, Place.entries, name, store, limits)
      let originals = entry.flatMap { $0.originals.isEmpty ? nil : $0.originals }
      try MappingBook.put(originals, Place.originals, name, store, limits)
    }
    for key in changedLinks.sorted() {
      try MappingBook.put(
        links[key]?.fields(key), Place.links, MappingBook.linkName(key), store, limits)
    }
    for (key, place) in homes.sorted(by: { $0.key < $1.key }) {
      try MappingBook.put(
        place?.fields(key), Place.homes, MappingBook.linkName(key), store, limits)
    }
    try storeUnread(in: store, limits)
    noteStored()
  }

  private func storeUnread(
    in store: Store, _ limits: CairnMerge.Limits
  ) throws(StoreError) {
    // None of the three has a space.
    let texts = changedUnread.map { place in
      (place: place, text: "\(place.route) \(place.table) \(place.record)")
    }
    for (place, text) in texts.sorted(by: { $0.text < $1.text }) {
      let fields: ObjectFields = [
        "route": .string(place.route), "table": .string(place.table),
        "record": .string(place.record.description),
      ]
      try MappingBook.put(
        unread.contains(place) ? fields : nil, Place.unread, MappingBook.hashName(text), store,
        limits)
    }
  }

  static func home(of key: RowKey, in store: Store) throws(CairnError) -> RecordPlace? {
    let fields = try wrapped { () throws(StoreError) in
      try store.fields(table: Place.homes, id: linkName(key))
    }
    guard let fields else { return nil }
    guard let place = RecordPlace(ObjectFields(fields), of: key) else {
      throw unreadable(Place.homes, linkName(key))
    }
    return place
  }

  private static func name(_ number: UInt64) -> RecordName {
    RecordName(String(number, radix: 16))
  }

  private static func linkName(_ key: RowKey) -> RecordName {
    // "notes" and "old/1" are not "notes/old" and "1"; no name has a space.
    let between = key.table.contains("/") ? " " : "/"
    return hashName("\(key.table)\(between)\(key.id)")
  }

  private static func hashName(_ text: String) -> RecordName {
    let hash = XXH3.hash128(Array(text.utf8))
    return .packed(UInt64(truncatingIfNeeded: hash >> 64), UInt64(truncatingIfNeeded: hash))
  }

  /// Makes a record what it is to be; nil: gone.
  static func put(
    _ fields: ObjectFields?, _ table: String, _ id: RecordName, _ store: Store,
    _ limits: CairnMerge.Limits
  ) throws(StoreError) {
    let now = try store.fields(table: table, id: id).map { ObjectFields($0) }
    guard let fields else {
      if now != nil { try store.delete(table: table, id: id) }
      return
    }
    guard let now else {
      try store.insert(table: table, id: id, fields.inOrder.map { ($0.0, $0.1) }, limits: limits)
      return
    }
    let changed = ObjectFields.differences(now, fields).sorted()
    if changed.isEmpty { return }
    try store.update(table: table, id: id, changed.map { ($0, fields[$0]) }, limits: limits)
  }
}

extension MappingBook.Following {
  fileprivate var fields: ObjectFields {
    let dots = vector.entries.map { dot in
      FieldValue.string("\(String(dot.device.rawValue, radix: 16)):\(dot.sequence)")
    }
    return [
      "vector": .list(dots),
      "mapped": .list(mapped.map(\.text).sorted().map { .string($0) }),
      "absent": .list(absent.map(\.text).sorted().map { .string($0) }),
    ]
  }
}

extension OutboxBook.Batch {
  fileprivate var fields: ObjectFields {
    var fields: ObjectFields = ["id": .string(id.description), "route": .string(route)]
    if !isQueued {
      fields["device"] = .string(device)
      fields["sequence"] = .int(Int64(clamping: sequence))
    }
    if isPublished { fields["published"] = .int(1) }
    return fields
  }
}

extension OutboxBook.Entry {
  fileprivate init?(_ name: RecordName, _ fields: ObjectFields, _ originals: ObjectFields) {
    guard let number = UInt64(name.text, radix: 16),
      let kind = Kind(rawValue: fields.integer("kind")),
      let table = fields.text("table"), let object = fields.text("object"),
      let recordTable = fields.text("recordTable"), let record = fields.text("record")
    else { return nil }
    self.init(
      number: number, batch: UInt64(clamping: fields.integer("set")),
      object: RowKey(table: table, id: RecordID(object)), table: recordTable,
      record: RecordID(record), kind: kind, fields: Set(fields.texts("fields")),
      originals: originals)
  }

  fileprivate var fieldsStored: ObjectFields {
    [
      "set": .int(Int64(clamping: batch)), "table": .string(object.table),
      "object": .string(object.id.description), "recordTable": .string(table),
      "record": .string(record.description), "kind": .int(kind.rawValue),
      "fields": .list(fields.sorted().map { .string($0) }),
    ]
  }
}

extension MappingBook.Link {
  fileprivate func fields(_ key: RowKey) -> ObjectFields {
    var fields: ObjectFields = [
      "table": .string(key.table), "object": .string(key.id.description),
    ]
    if let route { fields["route"] = .string(route) }
    if let record { fields["record"] = .string(record.description) }
    if isDetached { fields["detached"] = .int(1) }
    return fields
  }
}

extension RecordPlace {
  fileprivate init?(_ fields: ObjectFields, of key: RowKey) {
    guard let route = fields.text("route"), let table = fields.text("table") else { return nil }
    self.init(
      route: route, table: table, record: fields.text("record").map { RecordID($0) } ?? key.id)
  }

  fileprivate func fields(_ key: RowKey) -> ObjectFields {
    var fields: ObjectFields = ["route": .string(route), "table": .string(table)]
    if record != key.id { fields["record"] = .string(record.description) }
    return fields
  }
}

extension ObjectFields {
  func text(_ field: String) -> String? {
    if case .string(let text)? = self[field] { text } else { nil }
  }

  func integer(_ field: String) -> Int64 {
    if case .int(let value)? = self[field] { value } else { 0 }
  }

  func texts(_ field: String) -> [String] {
    guard case .list(let items)? = self[field] else { return [] }
    return items.compactMap { item -> String? in
      if case .string(let text) = item { text } else { nil }
    }
  }
}
