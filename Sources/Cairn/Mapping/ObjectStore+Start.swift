internal import CairnMerge
internal import CairnStore

/// What an object store does first.
extension ObjectStore {
  func start() throws(CairnError) {
    // The name in the datastores must last before it is used.
    try changing { () throws(CairnError) in try commit() }
    var report = ObjectReport()
    if !isFollowing {
      // Until all objects were compared with what is there, whenever that is.
      try changing { () throws(CairnError) in
        book.version = nil
        book.hasChangedState = true
        try commit()
      }
    }
    for (route, remote) in remotes.sorted(by: { $0.key < $1.key }) {
      for mapping in mappings.values.sorted(by: { $0.table < $1.table }) {
        try mapping.prepare(remote)
      }
      try follow(route, &report)
      _ = try noteArrived(route)
    }
    if book.version != version.tag { try populate() }
  }

  /// Whether every route leads to the datastore that it led to the last time.
  private var isFollowing: Bool {
    remotes.allSatisfy { route, remote in
      book.followed[route].map { remote.store.vector.covers($0) } ?? false
    }
  }

  /// Queues what differs between all objects and their records.
  private func populate() throws(CairnError) {
    let pass = MappingPass.population(info: version.info)
    var keys: [ObjectKey] = []
    for mapping in mappings.values where mapping.recordTable != nil {
      for object in try local.table(mapping.table).query() {
        keys.append(ObjectKey(table: mapping.table, id: object.id))
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
        if rest.isEmpty {
          book.version = version.tag
          book.hasChangedState = true
        }
        try commit()
        return rest
      }
      if rest.isEmpty { return }
    }
  }

  private func populate(
    _ key: ObjectKey, _ pass: MappingPass, _ sets: inout BatchNames
  ) throws(CairnError) {
    guard let table = mappings[key.table]?.recordTable, let object = try fields(key),
      book[link: key]?.isDetached != true
    else { return }
    let shaped = try shape(key, object, pass)
    for route in try routes(of: key, table) where route != shaped?.route {
      try save(nil, key, table, route, &sets, changed: [])
    }
    guard let shaped else { return }
    let base = try record(shaped.route, table, book.place(key).record)
    // What is pending is so anyway.
    let pending = Set(book.outbox.queued(key, shaped.route).flatMap(\.fields))
    let changed = shaped.known.subtracting(pending)
      .filter { base?[$0] != shaped.fields[$0] }
    try save(shaped, key, table, shaped.route, &sets, changed: changed)
  }
}
