internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

extension DatastoreManager {
  /// Copies of datastores in the trash: what other devices have deleted, and originals of what was
  /// repaired; from the least to the most recent one.
  public func trashedDatastores() throws(CairnError) -> [DeletedDatastore] {
    let trash = root + "/" + FileName.trash
    var result: [DeletedDatastore] = []
    do throws(DiskError) {
      if try machine.disk.info(trash) == nil { return [] }
      for entry in try machine.disk.list(trash) where entry.info.kind == .directory {
        guard let time = Int64(entry.name) else { continue }
        let place = trash + "/" + entry.name
        for copy in try machine.disk.list(place) where copy.info.kind == .directory {
          guard let (id, generation) = FileName.generation(directory: copy.name),
            Identifier.isValidDatastore(id)
          else { continue }
          let directory = place + "/" + copy.name
          result.append(
            DeletedDatastore(
              id: id, deleted: Timestamp(millisecondsSince1970: time), directory: directory,
              reason: reason(place), bytes: try bytes(directory), generation: generation))
        }
      }
    } catch { throw CairnError(error) }
    return result.sorted { ($0.deleted, $0.id) < ($1.deleted, $1.id) }
  }

  private func reason(_ place: String) -> String? {
    let path = place + "/" + FileName.trashReason
    // It is for people: without it there is just the copy.
    let bytes = (try? DurableFile.read(path, limit: 1 << 20, disk: machine.disk)) ?? nil
    return bytes.map { String(decoding: $0, as: UTF8.self) }
  }

  private func bytes(_ directory: String) throws(DiskError) -> UInt64 {
    var total: UInt64 = 0
    for entry in try machine.disk.list(directory) {
      let path = directory + "/" + entry.name
      total += entry.info.kind == .directory ? try bytes(path) : entry.info.size
    }
    return total
  }

  /// Takes a copy out of the trash again.
  ///
  /// One whose datastore was deleted elsewhere becomes the content of a new datastore of that id,
  /// or is merged into it if there is one already, as `migrate(to:)` does it; the copy stays in the
  /// trash. Any other is put back into its place as it is.
  ///
  /// - Throws: `alreadyOpen` if the datastore is open; `exists` if its place is taken: remove that
  ///   copy first; `exists` also if an earlier call that ended with an error, or was interrupted,
  ///   is completed by this one: look at the datastore before the copy is merged into it once more;
  ///   `retryLater` while datastores are being moved in this root, or until the root that some were
  ///   moved from is used again after a `migrate(to:)` that was interrupted; `notFound` if it is
  ///   not in the trash any more; errors of the disk.
  public func restore(_ deleted: DeletedDatastore) throws(CairnError) {
    // Completed by the check behind it, and then nothing tells of it any more.
    let earlier = try MigrationJournal.read(root, disk: machine.disk)
    try checkUsable()
    try checkNotFollowing()
    guard try trashedDatastores().contains(where: { $0.directory == deleted.directory }) else {
      throw missing(deleted)
    }
    let generation = try generation(of: deleted.id)
    // Also of what an earlier call has brought back.
    defer { noteList() }
    if deleted.generation < generation {
      try checkNotBack(deleted, generation, earlier)
      try mergeBack(deleted, generation)
    } else {
      try putBack(deleted)
    }
  }

  /// Throws if something that was put together before was only waiting for the datastore's place:
  /// who repeats a restore that has failed would merge the same copy twice.
  private func checkNotBack(
    _ deleted: DeletedDatastore, _ generation: UInt32, _ earlier: MigrationJournal?
  ) throws(CairnError) {
    let name = FileName.directory(datastore: deleted.id, generation: generation)
    guard let earlier, earlier.isTarget, !earlier.isInstalled, earlier.other.isEmpty,
      earlier.items.contains(where: { $0.directory == name && $0.source.isEmpty })
    else { return }
    throw CairnError(
      .exists,
      "an earlier restore or repair of \(deleted.id) was completed just now; look at it before "
        + "anything else is restored into it", file: root + "/" + name, id: deleted.id)
  }

  private func putBack(_ deleted: DeletedDatastore) throws(CairnError) {
    let name = FileName.directory(datastore: deleted.id, generation: deleted.generation)
    let place = root + "/" + name
    let isTaken: Bool
    do { isTaken = try machine.disk.info(place) != nil } catch { throw CairnError(error) }
    if isTaken, try !clearUnborn(name, id: deleted.id) {
      throw CairnError(
        .exists,
        "there is a datastore \(deleted.id) in \(root), whose place the copy would take. With "
          + "nothing open, move \(place) out of the root first; or move \(deleted.directory) to a "
          + "root of its own, to look at what it has",
        file: place, id: deleted.id)
    }
    do throws(DiskError) {
      try machine.disk.move(deleted.directory, to: place, syncing: root)
      try machine.disk.removeTree(parent(of: deleted))
    } catch { throw CairnError(error) }
  }

  /// Makes room where there is only what a crash left of a datastore that was being created, which
  /// nobody could remove; false if there is more. Opening is locked out meanwhile.
  private func clearUnborn(_ name: String, id: String) throws(CairnError) -> Bool {
    let place = root + "/" + name
    return try locked { (state: inout State) throws(CairnError) -> Bool in
      do throws(DiskError) {
        guard try LostCurrent.isUnborn(place, disk: machine.disk) else { return false }
        let lock = try machine.disk.lock(place + "/" + FileName.lock)
        defer { lock.unlock() }
        // Another process may have created it meanwhile.
        guard try LostCurrent.isUnborn(place, disk: machine.disk) else { return false }
        try trash.remove(name)
        return true
      } catch {
        guard error.reason == .locked else { throw CairnError(error) }
        throw CairnError(.alreadyOpen, "\(id) is open; close it first", id: id)
      }
    }
  }

  /// The directory of one moment in the trash.
  private func parent(of deleted: DeletedDatastore) -> String {
    "\(root)/\(FileName.trash)/\(deleted.deleted.millisecondsSince1970)"
  }

  private func mergeBack(_ deleted: DeletedDatastore, _ generation: UInt32) throws(CairnError) {
    try locked { (state: inout State) throws(CairnError) in
      if state.open[deleted.id]?.isOpen == true {
        throw CairnError(
          .alreadyOpen, "\(deleted.id) is open; close it first", id: deleted.id)
      }
      var locks = MigrationLocks(machine: machine)
      defer { locks.release() }
      try locks.take(root)
      let earlier = try MigrationJournal.read(root, disk: machine.disk)
      _ = try settleMigration(target: nil, &locks)
      try checkNotBack(deleted, generation, earlier)
      try checkNothingMoves(deleted.id)
      let source = try open(deleted)
      do throws(CairnError) { try stage(source, deleted.id, generation) } catch {
        do throws(StoreError) { try source.close() } catch {}
        // It may have been just the last step's answer that failed.
        do throws(CairnError) {
          if try settleMigration(target: nil, &locks) { return }
        } catch {}
        throw error
      }
      try wrapped { () throws(StoreError) in try source.close() }
      _ = try settleMigration(target: nil, &locks)
    }
  }

  /// Opens a copy, which keeps it in the trash until it is closed.
  private func open(_ deleted: DeletedDatastore) throws(CairnError) -> Store {
    let device = try device(String(deleted.directory.dropFirst(root.count + 1)))
    let identity = DatastoreManager.identity(of: deleted.id, generation: deleted.generation)
    let source = try wrapped { () throws(StoreError) in
      try Store.open(
        deleted.directory, datastore: identity, isLinked: !isLocal,
        options: MigrationStaging.options, machine: machine)
    }
    if source.device.rawValue == device { return source }
    // It went just before it was locked, and an empty one was made in its place.
    do throws(StoreError) { try source.close() } catch {}
    throw missing(deleted)
  }

  private func missing(_ deleted: DeletedDatastore) -> CairnError {
    CairnError(
      .notFound, "\(deleted.directory) is not in the trash any more",
      file: deleted.directory, id: deleted.id)
  }

  private func stage(_ source: Store, _ id: String, _ generation: UInt32) throws(CairnError) {
    let name = FileName.directory(datastore: id, generation: generation)
    let lock = try lockPlace(name, id: id)
    defer { lock?.unlock() }
    let staging = MigrationStaging(root: root, token: machine.random.next(), machine: machine)
    do throws(CairnError) {
      _ = try staging.stage(source, id: id, generation: generation)
      try MigrationJournal(
        flags: MigrationJournal.flagTarget, token: staging.token, other: "",
        items: [MigrationJournal.Item(directory: name, source: "")]
      ).write(root, machine: machine)
    } catch {
      staging.discardUnlessDecided()
      throw error
    }
  }

  /// Removes copies from the trash for good: all of them, or one. After this no power cut brings
  /// them back.
  ///
  /// - Throws: `alreadyOpen` if a copy is in use just now, as it is merged back or removed by
  ///   somebody else: that one stays, and the others are gone; errors of the disk.
  public func emptyTrash(of deleted: DeletedDatastore? = nil) throws(CairnError) {
    let directory = root + "/" + FileName.trash
    var used: String?
    do throws(DiskError) {
      if try machine.disk.info(directory) == nil { return }
      if let deleted {
        // Not one of another root.
        guard deleted.directory.hasPrefix(parent(of: deleted) + "/") else { return }
        if try !removePlace(parent(of: deleted)) { used = deleted.directory }
      } else {
        // Also what an earlier removal that failed has left of one.
        for entry in try machine.disk.list(directory)
        where entry.info.kind == .directory && Int64(entry.name) != nil {
          let place = directory + "/" + entry.name
          if try !removePlace(place) { used = place }
        }
      }
      try machine.disk.syncDirectory(directory)
    } catch { throw CairnError(error) }
    guard let used else { return }
    throw CairnError(
      .alreadyOpen,
      "what is in \(used) is in use just now (being restored or removed); empty the trash after "
        + "that",
      file: used, id: deleted?.id)
  }

  private func removePlace(_ place: String) throws(DiskError) -> Bool {
    do throws(DiskError) { return try trash.removePlace(place) } catch {
      // Somebody else has removed or restored it meanwhile.
      if error.reason == .notFound { return true }
      throw error
    }
  }
}
