internal import CairnMerge
internal import CairnStore

/// What an object store does first.
extension ObjectStore {
  func start() throws(CairnError) {
    // The name in the datastores must last before it is used, and which mappings are away before
    // anything is followed without them.
    try changing { () throws(CairnError) in
      // Until all objects were compared with what is there, whenever that is.
      if !isFollowing, book.version != nil {
        book.version = nil
        book.hasChangedState = true
      }
      noteElsewhere()
      noteAbsent()
      try commit()
    }
    var report = ObjectReport()
    for (route, remote) in remotes.sorted(by: { $0.key < $1.key }) {
      for mapping in mappings.values.sorted(by: { $0.table < $1.table }) {
        try mapping.prepare(remote)
      }
      if try !follow(route, &report) { try catchUp(route, &report) }
      try noteArrived(route, &report.arrived)
    }
    (foundWhenOpened, arrivedUntold) = (report.unreadable, report.arrived)
    try holdWhatCannotLeave()
    let isNew = book.version != version.tag
    let tables = isNew ? Set(mappings.keys) : Set(newMappings.map(\.table))
    // Also for those that are only back: that is noted at the end.
    let isComplete = remotes.keys.allSatisfy { book.followed[$0]?.mapped == mapped }
    if isNew || !isComplete { try populate(tables) }
  }

  private var mapped: Set<MappedTables> { Set(mappings.values.compactMap(\.tables)) }

  /// Those that a route has never had, or had while their tables were mapped in another way too.
  private var newMappings: Set<MappedTables> {
    remotes.keys.reduce(into: []) { result, route in
      let following = book.followed[route] ?? MappingBook.Following()
      result.formUnion(mapped.subtracting(following.mapped).subtracting(following.absent))
    }
  }

  /// Where a route leads to another datastore than the last time, the records that objects had were
  /// never: of those that are not there nobody can say that they were deleted.
  private func noteElsewhere() {
    for (route, remote) in remotes {
      guard let known = book.followed[route], !remote.store.vector.covers(known.vector) else {
        continue
      }
      book.note(route) { ($0.mapped, $0.absent) = ([], []) }
    }
  }

  /// On each route: which mappings are away. One that is back stays noted until its table has
  /// caught up. An object whose table is mapped in another way may change meanwhile, and of that
  /// one nothing is known.
  private func noteAbsent() {
    let now = mapped
    for route in book.followed.keys.sorted() {
      book.note(route) { following in
        following.absent = following.absent.union(following.mapped.subtracting(now))
          .filter { now.contains($0) || mappings[$0.table] == nil }
        following.mapped.formIntersection(now)
      }
    }
  }

  /// All that is mapped now has been compared.
  private func noteMapped() {
    let now = mapped
    let isNew = book.version != version.tag
    for route in book.followed.keys.sorted() {
      book.note(route) { following in
        if remotes[route] != nil { following.mapped = now }
        // One that misses a version is a new one when it is back.
        following.absent = isNew ? [] : following.absent.subtracting(following.mapped)
      }
    }
    book.version = version.tag
    book.hasChangedState = true
  }

  /// Whether every route leads to the datastore that it led to the last time.
  private var isFollowing: Bool {
    remotes.allSatisfy { route, remote in
      book.followed[route].map { remote.store.vector.covers($0.vector) } ?? false
    }
  }

  /// Queues what differs between all objects of these tables and their records. The end of it is
  /// noted with the last of them: a store that was killed before begins again, and what is queued
  /// already is not queued twice.
  private func populate(_ tables: Set<String>) throws(CairnError) {
    let pass = MappingPass.population(info: version.info)
    var keys: [RowKey] = []
    for mapping in mappings.values
    where mapping.recordTable != nil && tables.contains(mapping.table) {
      for object in try local.table(mapping.table).query() {
        keys.append(RowKey(table: mapping.table, id: object.id))
      }
    }
    var rest = keys.sorted()[...]
    while true {
      rest = try changing { () throws(CairnError) in
        var rest = rest
        var sets = BatchNames()
        while let key = rest.popFirst() {
          try populate(key, pass, &sets)
          if try isFull() { break }
        }
        if rest.isEmpty { noteMapped() }
        try commit()
        return rest
      }
      if rest.isEmpty { return }
    }
  }

  private func populate(
    _ key: RowKey, _ pass: MappingPass, _ sets: inout BatchNames
  ) throws(CairnError) {
    guard let table = mappings[key.table]?.recordTable, let object = try fields(key),
      book[link: key]?.isDetached != true
    else { return }
    let found: ShapedObject?
    do throws(CairnError) { found = try shape(key, object, pass) } catch {
      try skip(key, table, error)
      return
    }
    if let found {
      let address = MappingBook.Address(route: found.route, record: book.place(key).record)
      // Nobody has asked for this one to become the record of another: it stays what it is.
      if try holder(of: address, but: key) != nil { return }
    }
    // The object could not follow it, wherever it is to be now.
    if try hasUnread(key, table) { return }
    var carried: ObjectFields = [:]
    // What is on a route that is not there stays there.
    for route in try routes(of: key, table) where route != found?.route && remotes[route] != nil {
      if let found {
        carried.merge(try others(than: found.known, key, table, route)) { first, _ in first }
      }
      try save(nil, key, table, route, &sets, changed: [])
    }
    guard var shaped = found else { return }
    let place = RecordPlace(
      route: shaped.route, table: table, record: book.place(key).record)
    let base = try record(place.route, table, place.record)
    // The object could not follow it: what that says is older.
    if base != nil, book.unread.contains(place) { return }
    let queued = book.outbox.queued(key, place)
    // What is pending is so anyway.
    let pending = Set(queued.flatMap(\.fields))
    if let base { shaped = try takeUnsaid(key, object, shaped, base, but: pending, pass) }
    let changed = differences(shaped, base ?? [:]).subtracting(pending)
    let isNew = base == nil && !queued.contains { $0.kind == .insert }
    if isNew || !changed.isEmpty {
      let written = isNew ? Set(shaped.fields.keys) : changed
      var values = written.map { shaped.fields[$0] }
      if isNew { values += carried.values.map { Optional($0) } }
      sets.makeRoom(for: values, upTo: partMax)
    }
    try save(shaped, key, table, shaped.route, &sets, changed: changed, carried: carried)
  }

  /// An object that this version of the app can't read, as another one has left it, keeps nobody
  /// from opening the rest: it stays as it is, and so does its record.
  private func skip(_ key: RowKey, _ table: String, _ error: CairnError) throws(CairnError) {
    guard error.code == .badType || error.code == .illegalArgument else { throw error }
    // So many say enough; each is looked for among them.
    guard foundWhenOpened.count < 1000, let route = try routes(of: key, table).first else { return }
    let place = RecordPlace(route: route, table: table, record: book.place(key).record)
    foundWhenOpened.add(place, error)
  }

  /// Whether an object has a record that is there and that it has not followed, as that could not
  /// be read or made it one that stays here; or that others have moved to where that is so.
  func hasUnread(_ key: RowKey, _ table: String) throws(CairnError) -> Bool {
    let record = book.place(key).record
    for route in try routes(of: key, table) {
      let place = RecordPlace(route: route, table: table, record: record)
      guard book.unread.contains(place) else { continue }
      if try self.record(route, table, record) != nil { return true }
      if try otherPlace(key, but: place) != nil { return true }
    }
    return false
  }

  /// Fields that an object says otherwise than its record. What only reads otherwise, as a float,
  /// is no difference.
  private func differences(_ shaped: ShapedObject, _ record: ObjectFields) -> Set<String> {
    shaped.known.filter { field in
      let shown = record[field].map { shaped.form.shown($0, field) }
      return !shaped.isSame(field, shown, shaped.fields[field])
    }
  }

  /// Fields of the record that the object never had, as the version of the app before did not know
  /// them, are the record's. Returns what the record is to be after the object has taken them.
  private func takeUnsaid(
    _ key: RowKey, _ object: ObjectFields, _ shaped: ShapedObject, _ base: ObjectFields,
    but pending: Set<String>, _ pass: MappingPass
  ) throws(CairnError) -> ShapedObject {
    guard let mapping = mappings[key.table] else { return shaped }
    var unsaid: Set<String> = []
    for field in differences(shaped, base).subtracting(pending)
    where try isUnsaid(field, key, object, shaped, base) {
      unsaid.insert(field)
    }
    if unsaid.isEmpty { return shaped }
    var said = shaped.fields
    for field in unsaid { said[field] = base[field] }
    var rest = shaped
    rest.known.subtract(unsaid)
    let fields: ObjectFields
    var after: ShapedObject
    do throws(CairnError) {
      guard let taken = try mapping.absorb(said, object, book.place(key)),
        var shapedAfter = try shape(key, taken, pass)
      else { return rest }
      // It stays where its record is until it changes.
      shapedAfter.route = shaped.route
      (fields, after) = (taken, shapedAfter)
    } catch {
      guard error.code == .badType || error.code == .illegalArgument else { throw error }
      return rest
    }
    let heard = unsaid.filter { field in
      guard let value = after.fields[field] else { return false }
      // A mapping that says the same whatever it is told has not heard of it.
      return mapping.isSynced || !after.isSame(field, value, shaped.fields[field])
    }
    // What this version does not share goes from the record.
    if heard.isEmpty { return shaped }
    // What only reads otherwise, as a set or what a mapping rounds, is no change of anybody's.
    after.known.subtract(heard)
    let changed = ObjectFields.differences(object, fields).sorted()
    if changed.isEmpty { return after }
    try wrapped { () throws(StoreError) in
      try local.store.update(
        table: key.table, id: key.id.name, changed.map { ($0, fields[$0]) }, limits: .unlimited)
    }
    return after
  }

  /// Whether an object has never said anything of a field that its record has: nothing is what it
  /// says of it, or a value that a model has for what it does not find.
  private func isUnsaid(
    _ field: String, _ key: RowKey, _ object: ObjectFields, _ shaped: ShapedObject,
    _ base: ObjectFields
  ) throws(CairnError) -> Bool {
    guard let mapping = mappings[key.table], let value = base[field] else { return false }
    if shaped.fields[field] == nil { return true }
    if mapping.isSynced { return object[field] == nil }
    var said = shaped.fields
    said[field] = value
    do throws(CairnError) {
      guard let other = try mapping.absorb(said, object, book.place(key)),
        let same = try mapping.absorb(shaped.fields, object, book.place(key))
      else { return false }
      let shown = ObjectFields.differences(other, same)
      return !shown.isEmpty && shown.allSatisfy { object[$0] == nil }
    } catch {
      guard error.code == .badType || error.code == .illegalArgument else { throw error }
      return false
    }
  }
}
