internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import Synchronization

extension DatastoreManager {
  /// Opens the datastore `default`, creating it if it is not there.
  public func openDefaultDatastore() throws(CairnError) -> Datastore {
    try openOrCreateDatastore("default")
  }

  /// Opens a datastore that is on this device, or that the account's list has: then it is empty
  /// until its first exchange has fetched it and a `sync()` made that visible.
  ///
  /// - Throws: `notFound` if it is neither, `alreadyOpen` if it is open here or in another process,
  ///   `corrupt` if it is damaged so that it has to be repaired first.
  public func openDatastore(_ id: String) throws(CairnError) -> Datastore {
    try open(id, creates: false)
  }

  /// Opens a datastore, creating it if it is not there: with a private id, or with a shareable one
  /// that `createDatastore()` has made, here or elsewhere. One with a shareable id that is created
  /// by this call has no owner, and whoever has the folder may change it.
  ///
  /// Where other devices have one of that id, the contents merge. One that was deleted is created
  /// anew: nothing of what was deleted comes back.
  public func openOrCreateDatastore(_ id: String) throws(CairnError) -> Datastore {
    try open(id, creates: true)
  }

  /// Creates a datastore with a new shareable id: a dot and 256 random bits, which no other device
  /// ever makes. The account's user is its owner; of a local one, the user of the account that it
  /// is moved to.
  public func createDatastore() throws(CairnError) -> Datastore {
    var key: [UInt8] = []
    for _ in 0..<4 {
      let word = machine.random.next()
      for shift in stride(from: 0, to: 64, by: 8) {
        key.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
      }
    }
    let id = ShareableID.make(key)
    let datastore = try open(id, creates: true)
    do throws(CairnError) { try datastore.claim() } catch {
      // Nothing is left of what could not be made whole; the first error says more.
      do throws(CairnError) { try datastore.close() } catch {}
      do throws(CairnError) { try removeCopy(id) } catch {}
      // Those who watch the list have heard of it.
      noteList()
      throw error
    }
    return datastore
  }

  /// Those that this manager has opened and nobody has closed.
  var openDatastores: [Datastore] { state.withLock { $0.open.values } }

  private func open(_ id: String, creates: Bool) throws(CairnError) -> Datastore {
    guard Identifier.isValidDatastore(id) else {
      throw CairnError(
        .illegalArgument,
        "\"\(id)\" can't be a datastore's id: 1 to 64 of a-z 0-9 - _ . without a dot at either "
          + "end, or a dot and 1 to 63 of A-Z a-z 0-9 - _", id: id)
    }
    try checkUsable()
    try checkNotFollowing()
    while true {
      let datastore = try openOnce(id, creates: creates)
      // Another process may have deleted it just before its files were locked.
      let isCurrent: Bool
      do throws(CairnError) {
        isCurrent = try generation(of: id) == datastore.generation
      } catch {
        // Nobody gets it, so nobody else could close it; the first error says more.
        do throws(CairnError) { try datastore.close() } catch {}
        throw error
      }
      if isCurrent {
        noteList()
        clearUpOnce()
        return datastore
      }
      try datastore.close()
    }
  }

  /// In an account's root the exchange of its list does this; a local one has none. Best effort.
  private func clearUpOnce() {
    if isLocal, !hasClearedUp.exchange(true, ordering: .relaxed) { trash.purge() }
  }

  /// Opens the copy of what is followed here.
  func openFollowed(_ source: FollowedSource) throws(CairnError) -> Datastore {
    // As below.
    let made = folder?()
    defer { withExtendedLifetime(made) {} }
    return try locked { (state: inout State) throws(CairnError) in
      let file = source.file
      let datastore = try Datastore(
        id: file.id, generation: file.generation, manager: self, directory: source.directory,
        folder: made)
      state.open[file.id] = datastore
      return datastore
    }
  }

  private func openOnce(_ id: String, creates: Bool) throws(CairnError) -> Datastore {
    // What opens it is the app's, and may ask for accounts and managers: it is called with nothing
    // locked. What it has made and nobody uses goes at the end, not under the lock.
    let made = folder?()
    defer { withExtendedLifetime(made) {} }
    try checkRoot()
    return try locked { (state: inout State) throws(CairnError) in
      if let open = state.open[id], open.isOpen {
        throw CairnError(
          .alreadyOpen, "the datastore \(id) is open already; use the one that is", id: id)
      }
      // A local one is in nobody's list.
      let entry = isLocal ? nil : try entry(of: id)
      let generation = entry?.generation ?? 0
      let directory = directory(of: id, generation: generation)
      if !creates, entry?.view == nil, try !isThere(directory) {
        try LostCurrent.check(directory, id: id, disk: machine.disk)
        throw CairnError(
          .notFound, "there is no datastore \(id) in \(root)", file: directory, id: id)
      }
      let datastore = try Datastore(
        id: id, generation: generation, manager: self, directory: directory, folder: made)
      state.open[id] = datastore
      return datastore
    }
  }

  /// What the account's list says of an id; nothing for local datastores.
  func entry(of id: String) throws(CairnError) -> CatalogueEntry {
    isLocal ? .nothing : try installation.read().entry(id)
  }

  func generation(of id: String) throws(CairnError) -> UInt32 {
    isLocal ? 0 : try entry(of: id).generation
  }
}
