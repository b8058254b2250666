public import Cairn

extension CouchDBDatabase {
  /// Removes all documents and attachments; its address stays, and the next pull begins at the
  /// beginning. Durable when it returns; one that ends on its way is finished by the next pull.
  ///
  /// - Throws: `invalidOperation` while it is being pulled; errors of the disk.
  public func purge() throws(CairnError) { try alone { () throws(CairnError) in try empty() } }

  /// The same, and forgets the database itself.
  public func destroy() throws(CairnError) {
    try alone { () throws(CairnError) in
      try empty()
      try delete(store.datastore.table(CouchDBStore.statesTable), name)
      try store.datastore.sync()
    }
  }

  private func alone(_ body: () throws(CairnError) -> Void) throws(CairnError) {
    guard Followers.shared.begin(self) else {
      throw CairnError(
        .invalidOperation, "\(name) is being pulled; abort that first", id: name)
    }
    defer { Followers.shared.end(self) }
    try body()
  }

  func empty() throws(CairnError) {
    // First: whatever happens on the way, the next pull empties it first and begins at the
    // beginning.
    if let state = try state {
      var kept = DatabaseState()
      (kept.url, kept.isEmptying) = (state.url, true)
      try keep(kept)
      try store.datastore.sync()
    }
    for table in [try table, try waitingTable, try attachmentsTable, try partsTable] {
      for record in try table.query() { try delete(record) }
    }
    if var state = try state {
      state.isEmptying = false
      try makeRoom(1024)
      try keep(state)
    }
    try store.datastore.sync()
  }
}
