internal import CairnMerge
internal import CairnStore

/// From the datastores to the objects.
extension ObjectStore {
  /// Makes what was fetched visible, in the datastores and in the objects. Never waits for a
  /// folder.
  ///
  /// `exchange` does so by itself; this is for datastores that exchange in some other way.
  ///
  /// - Throws: as `Datastore.sync`, the first error after all routes had their turn.
  @discardableResult
  public func sync() throws(CairnError) -> ObjectReport {
    var report = ObjectReport()
    report.unreadable = foundWhenOpened
    report.arrived = arrivedUntold
    var first: CairnError?
    for route in remotes.keys.sorted() {
      do throws(CairnError) { try follow(route, &report) } catch { first = first ?? error }
    }
    if let first { throw first }
    (foundWhenOpened, arrivedUntold) = ([], [])
    return report
  }

  /// Commits and incorporates in one route's datastore, and lets the objects follow. Returns
  /// whether all records were looked at.
  @discardableResult
  func follow(_ route: String, _ report: inout ObjectReport) throws(CairnError) -> Bool {
    guard let remote = remotes[route] else { return false }
    try checkUsable()
    let (before, device) = (remote.store.vector, remote.store.device)
    let isKnown = book.followed[route]?.vector == before
    let result = try syncDurably(remote)
    try settle(route)
    doubts[route] = nil
    report.massDeletes[route] = result.massDelete
    let after = remote.store.vector
    if isKnown, !result.committed, result.newDevice == nil, result.isAll(from: before, to: after) {
      if before != after { try take(result, route, through: after, &report) }
      return false
    }
    // Somebody else has made changes visible there, or made some, maybe at this moment: nobody told
    // which.
    let renamed = result.newDevice == nil ? nil : device
    var addresses: [RowKey] = []
    for mapping in mappings.values {
      addresses += try self.addresses(mapping, remote)
      addresses += try gone(mapping, route, by: after, but: renamed)
    }
    try take(addresses.sorted(), isNews: false, route, through: after, &report)
    return true
  }

  /// After the first look at a route: of tables that were not mapped the last time nobody has
  /// followed the records. A new version of the mappings looks at those that are no objects, and at
  /// those that the version before could not read.
  func catchUp(_ route: String, _ report: inout ObjectReport) throws(CairnError) {
    guard let remote = remotes[route], let following = book.followed[route] else { return }
    var addresses: [RowKey] = []
    for mapping in mappings.values {
      guard let tables = mapping.tables else { continue }
      if !following.mapped.contains(tables) {
        addresses += try self.addresses(mapping, remote)
        addresses += try gone(mapping, route, by: following.vector, but: nil)
      } else if book.version != version.tag {
        for address in try self.addresses(mapping, remote) {
          let place = MappingBook.Address(route: route, record: address.id)
          guard let key = book.object(place, tables) else { continue }
          if try fields(key) == nil { addresses.append(address) }
        }
        // Those that have gone since are among them.
        for place in book.unread where place.route == route && place.table == tables.recordTable {
          addresses.append(RowKey(table: place.table, id: place.record))
        }
      }
    }
    if addresses.isEmpty { return }
    let once = Set(addresses).sorted()
    try take(once, isNews: false, route, through: following.vector, &report)
  }

  /// What the objects and the queue go by must outlast a power cut, whatever the durability of the
  /// datastore: the queue lets go of what is committed.
  func syncDurably(_ remote: Datastore) throws(CairnError) -> SyncResult {
    let result = try remote.sync()
    try wrapped { () throws(StoreError) in try remote.store.flush() }
    return result
  }

  /// Lets objects follow the records that a sync has changed.
  func take(
    _ result: SyncResult, _ route: String, through vector: VersionVector,
    _ report: inout ObjectReport
  ) throws(CairnError) {
    let addresses = Set(result.changes.map { RowKey(table: $0.table, id: $0.id) })
    try take(addresses.sorted(), isNews: true, route, through: vector, &report)
  }

  /// All records of a mapping.
  private func addresses(
    _ mapping: ObjectMapping, _ remote: Datastore
  ) throws(CairnError) -> [RowKey] {
    guard let table = mapping.recordTable else { return [] }
    return try remote.table(table).query().map { RowKey(table: table, id: $0.id) }
  }

  /// The records that objects of a mapping had, and that are gone. Only of one that was seen is it
  /// known that it is gone; any other object without a record is one that was never uploaded.
  private func gone(
    _ mapping: ObjectMapping, _ route: String, by vector: VersionVector, but renamed: DeviceID?
  ) throws(CairnError) -> [RowKey] {
    guard let tables = mapping.tables, isContinued(tables, route, by: vector, but: renamed) else {
      return []
    }
    var addresses: [RowKey] = []
    for object in try local.table(tables.table).query() {
      guard let home = try home(RowKey(table: tables.table, id: object.id)),
        home.route == route, home.table == tables.recordTable
      else { continue }
      if try self.record(route, home.table, home.record) == nil {
        addresses.append(RowKey(table: home.table, id: home.record))
      }
    }
    return addresses
  }

  /// Whether what the datastore has is all that the objects had followed, and more. `renamed`: the
  /// name that this device had before; what it had committed is under another one.
  func isContinued(
    _ tables: MappedTables, _ route: String, by vector: VersionVector, but renamed: DeviceID?
  ) -> Bool {
    // Of a route whose datastore was not compared with all objects yet nothing is noted as mapped.
    guard var following = book.followed[route],
      following.mapped.contains(tables) || following.absent.contains(tables)
    else { return false }
    if let renamed { following.vector[renamed] = 0 }
    return vector.covers(following.vector)
  }

  private func take(
    _ addresses: [RowKey], isNews: Bool, _ route: String, through vector: VersionVector,
    _ report: inout ObjectReport
  ) throws(CairnError) {
    var rest = addresses[...]
    while true {
      // In parts that a delta can hold, here and when they are uploaded. The last one says that it
      // was the last.
      rest = try changing { () throws(CairnError) in
        var rest = rest
        var sets = BatchNames()
        while let address = rest.popFirst() {
          try take(address, isNews: isNews, route, &sets, &report)
          if try isFull() { break }
        }
        if rest.isEmpty { book.note(vector, followedOn: route) }
        try commit()
        return rest
      }
      if rest.isEmpty { return }
    }
  }

  /// Whether it is time to commit, lest the next change break the limit.
  func isFull() throws(CairnError) -> Bool {
    try wrapped { () throws(StoreError) in try book.store(in: local.store, limits: .unlimited) }
    return local.unsyncedChangesSize > partMax
  }

  /// What is done in parts takes no more of a delta, here or when it is uploaded; one record that
  /// is larger stands alone.
  var partMax: Int {
    let limit = remotes.values.reduce(local.manager.options.limits.deltaBytes) { least, remote in
      min(least, remote.manager.options.limits.deltaBytes)
    }
    return limit / 4
  }

  private func take(
    _ address: RowKey, isNews: Bool, _ route: String, _ sets: inout BatchNames,
    _ report: inout ObjectReport
  ) throws(CairnError) {
    guard let mapping = mappings.values.first(where: { $0.recordTable == address.table }),
      let tables = mapping.tables,
      let key = book.object(MappingBook.Address(route: route, record: address.id), tables),
      book[link: key]?.isDetached != true
    else { return }
    let place = RecordPlace(route: route, table: address.table, record: address.id)
    let wasThere = try fields(key) != nil
    do throws(CairnError) {
      let isMerge = try absorb(
        key, mapping, route, address.id, isNews: isNews, &sets, &report.changes)
      if isMerge { report.merges += 1 }
    } catch {
      // It has changed nothing then: the mapping is asked before anything is.
      guard error.code == .badType || error.code == .illegalArgument else { throw error }
      book.note(place, isUnread: true)
      report.unreadable.append(
        ObjectReport.Unreadable(
          route: route, table: address.table, record: address.id, error: error))
    }
    if wasThere { try followOther(key, than: place, &sets, &report) }
  }

  /// After an object may have gone with its record: it stood before one of its id on another route.
  func followOther(
    _ key: RowKey, than place: RecordPlace, _ sets: inout BatchNames, _ report: inout ObjectReport
  ) throws(CairnError) {
    guard try fields(key) == nil, let other = try otherPlace(key, but: place) else { return }
    let address = RowKey(table: other.table, id: other.record)
    try take(address, isNews: false, other.route, &sets, &report)
  }
}

extension SyncResult {
  /// Whether this sync is all that has happened to a datastore between two looks: another thread
  /// may have synced it, too.
  func isAll(from before: VersionVector, to after: VersionVector) -> Bool {
    after.total &- before.total == UInt64(clamping: incorporated) &+ (committed ? 1 : 0)
  }
}
