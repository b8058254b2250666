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
  /// - Throws: `alreadyOpen` if the datastore is open, or the copy in use; `exists` if its place is
  ///   taken: remove that copy first; `exists` also if an earlier call that ended with an error, or
  ///   was interrupted, is completed by this one: look at the datastore before the copy is merged
  ///   into it once more; `retryLater` while datastores are being moved in this root, or until the
  ///   root that some were moved from is used again after a `migrate(to:)` that was interrupted;
  ///   `notFound` if it is not in the trash any more; errors of the disk.
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
    let lock = try lockCopy(deleted)
    defer { lock.unlock() }
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
      try trash.carry(deleted.directory, to: place, releasing: lock, syncing: root)
      // It is a datastore's again.
      lock.unlock()
      try machine.disk.removeTree(parent(of: deleted))
    } catch { throw CairnError(error) }
  }

  /// Keeps a copy in the trash, all of it, while it is put back: nobody removes it meanwhile.
  private func lockCopy(_ deleted: DeletedDatastore) throws(CairnError) -> any DiskLock {
    do throws(DiskError) {
      let lock = try machine.disk.lock(deleted.directory + "/" + FileName.lock)
      if try isWhole(deleted) { return lock }
      lock.unlock()
    } catch {
      if error.reason == .locked {
        throw CairnError(
          .alreadyOpen, "\(deleted.directory) is in use just now (being restored or removed)",
          file: deleted.directory, id: deleted.id)
      }
      if error.reason != .notFound { throw CairnError(error) }
    }
    throw missing(deleted)
  }

  /// Who removes a copy where it is takes its CURRENT first, and LOCK last. An original that was
  /// repaired may have lost its CURRENT long before.
  private func isWhole(_ deleted: DeletedDatastore) throws(DiskError) -> Bool {
    let disk = machine.disk
    if try disk.info(deleted.directory + "/" + FileName.current) != nil { return true }
    let reason = parent(of: deleted) + "/" + FileName.trashReason
    if try disk.info(reason) == nil { return false }
    return try !LostCurrent.isUnborn(deleted.directory, disk: disk)
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
        try trash.remove(name, releasing: lock)
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
  ///   somebody else: that one stays, and the others are gone; `notFound` if the one is not where
  ///   it was and there is a copy of that datastore elsewhere in the trash, which may be it: list
  ///   them again; errors of the disk.
  public func emptyTrash(of deleted: DeletedDatastore? = nil) throws(CairnError) {
    let directory = root + "/" + FileName.trash
    var used: String?
    var moved: String?
    do throws(DiskError) {
      if try machine.disk.info(directory) == nil { return }
      if let deleted {
        // Not one of another root.
        guard deleted.directory.hasPrefix(parent(of: deleted) + "/") else { return }
        switch try removePlace(parent(of: deleted)) {
        case .done: break
        case .used: used = deleted.directory
        case .gone: moved = try otherPlace(of: deleted)
        }
      } else {
        used = try removePlaces(directory)
      }
      try machine.disk.syncDirectory(directory)
    } catch { throw CairnError(error) }
    if let moved {
      throw CairnError(
        .notFound,
        "\(deleted?.directory ?? "") is not there any more, and nothing was removed: \(moved) may "
          + "be the same copy; list the trash again", file: deleted?.directory, id: deleted?.id)
    }
    guard let used else { return }
    throw CairnError(
      .alreadyOpen,
      "what is in \(used) is in use just now (being restored or removed); empty the trash after "
        + "that",
      file: used, id: deleted?.id)
  }

  /// Also what an earlier removal that failed has left. Returns one that is in use.
  private func removePlaces(_ directory: String) throws(DiskError) -> String? {
    var used: String?
    var seen: Set<String> = []
    // A purge beside this may have given one another place.
    while true {
      let names = try machine.disk.list(directory).filter {
        $0.info.kind == .directory && Int64($0.name) != nil && !seen.contains($0.name)
      }.map(\.name)
      if names.isEmpty { return used }
      for name in names {
        seen.insert(name)
        let place = directory + "/" + name
        if try removePlace(place) == .used { used = place }
      }
    }
  }

  private enum Removal { case done, used, gone }

  private func removePlace(_ place: String) throws(DiskError) -> Removal {
    do throws(DiskError) {
      if try machine.disk.info(place) == nil { return .gone }
      return try trash.removePlace(place) ? .done : .used
    } catch {
      // Somebody else has removed or restored it meanwhile, or its days began anew elsewhere.
      if error.reason == .notFound { return .gone }
      throw error
    }
  }

  /// Where there is a copy that may be one that is not in its place any more.
  private func otherPlace(of deleted: DeletedDatastore) throws(DiskError) -> String? {
    let trash = root + "/" + FileName.trash
    let name = deleted.directory.dropFirst(parent(of: deleted).count)
    for entry in try machine.disk.list(trash)
    where entry.info.kind == .directory && Int64(entry.name) != nil {
      let place = trash + "/" + entry.name + name
      if try machine.disk.info(place) != nil { return place }
    }
    return nil
  }
}
