internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

extension DatastoreManager {
  /// Makes a damaged datastore whole: of what its files still hold, and of what the account's
  /// folder has. Does nothing if every byte of it is right.
  ///
  /// The original is never changed: it is moved to `trash`, with the reason beside it, and stays
  /// there until the trash is emptied. In its place comes a new copy, with a new device name. It
  /// has everything that the folder has; what only the damaged copy had, unpublished changes that
  /// can still be read, it inserts as its own. The report lists what could not be read. If it is
  /// interrupted, nothing has changed, or the next use of this root completes it.
  ///
  /// - Parameters:
  ///   - id: A datastore that is closed.
  ///   - dryRun: Find out and report everything, and change nothing.
  ///   - usingFolder: Take what was published from the account's folder. Without it all that is
  ///     here is inserted anew, and meets what the others have as two inserts do: only for a folder
  ///     that is gone.
  /// - Throws: `notFound`, `alreadyOpen`; `retryLater` while datastores are being moved in this
  ///   root, or until the root that some were moved from is used again after a `migrate(to:)` that
  ///   was interrupted, or while the folder does not give what was published and the damaged copy
  ///   still has; `needsNewerVersion` if a file is a newer version's;
  ///   `disallowed` if the datastore is an account's and this manager is local, or the other way
  ///   round; `notFound` or `disallowed` if the folder is not there or another one; errors of the
  ///   disk and the folder. Nothing is changed then; only if the disk refuses while the new copy is
  ///   put into its place, the next use of this root does the rest.
  public func repairDatastore(
    _ id: String, dryRun: Bool = false, usingFolder: Bool = true
  ) async throws(CairnError) -> RepairReport {
    try checkUsable()
    try checkNotFollowing()
    guard Identifier.isValidDatastore(id) else {
      throw CairnError(.illegalArgument, "\"\(id)\" can't be a datastore's id", id: id)
    }
    let generation = try generation(of: id)
    let directory = directory(of: id, generation: generation)
    guard try isDirectory(directory) else {
      throw CairnError(
        .notFound, "there is no datastore \(id) in \(root)", file: directory, id: id)
    }
    let lock = try repairLock(directory, id)
    defer { lock.unlock() }
    try checkLinkage(directory, id, generation)
    var repair = DatastoreRepair(
      self, id: id, generation: generation, usesFolder: usingFolder)
    repair.examine()
    guard repair.report.wasNeeded else { return repair.report }
    do throws(CairnError) {
      try await repair.prepare()
      if dryRun {
        repair.discard()
        return repair.report
      }
    } catch {
      repair.discard()
      throw error
    }
    do throws(CairnError) { try repair.install(releasing: lock) } catch {
      if !repair.mayBeDecided { repair.staging.discardUnlessDecided() }
      throw error
    }
    noteList()
    return repair.report
  }

  /// A repair makes a copy for this manager's world. One of the other world would come out without
  /// what the account's folder has, or would publish what never left this device.
  private func checkLinkage(
    _ directory: String, _ id: String, _ generation: UInt32
  ) throws(CairnError) {
    let identity = DatastoreManager.identity(of: id, generation: generation)
    let isLinked: Bool
    do throws(LogError) {
      isLinked = try StoredLinkage.isLinked(
        directory, datastore: identity, disk: machine.disk)
    } catch { throw CairnError(error) }
    if isLinked != isLocal { return }
    let why =
      isLocal
      ? "\(id) belongs to an account, and what was published of it is in the account's folder: a "
        + "repair needs both. Nothing was changed. Repair it with the manager of its account: that "
        + "of its AccountManager, or cairn repair with the account's --folder and --user"
      : "\(id) is a local datastore, and this manager is an account's: what is repaired here would "
        + "be published in the account's folder. Nothing was changed. Repair it with a local "
        + "manager, or by cairn repair without --folder, in a root of its own if this one is an "
        + "account's; migrate it after that if the account is to have it"
    throw CairnError(.disallowed, why, file: directory, id: id)
  }

  /// Also one that has lost its CURRENT.
  private func isDirectory(_ path: String) throws(CairnError) -> Bool {
    do { return try machine.disk.info(path)?.kind == .directory } catch {
      throw CairnError(error)
    }
  }

  private func repairLock(_ directory: String, _ id: String) throws(CairnError) -> any DiskLock {
    do { return try machine.disk.lock(directory + "/" + FileName.lock) } catch {
      if error.reason == .locked {
        throw CairnError(
          .alreadyOpen, "\(id) is open (\(error.detail)); close it before it is repaired", id: id)
      }
      throw CairnError(error)
    }
  }
}
