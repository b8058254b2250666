internal import CairnDisk
internal import CairnLog
internal import CairnMerge

extension DatastoreFollower {
  /// Subscribes to a datastore of somebody's folder: nothing of it is here before the first pull.
  ///
  /// The first time it asks the folder whether the datastore is there. Where there is a
  /// subscription to it already, that is opened, and the folder is asked nothing; with another
  /// choice of tables than before, which is remembered at once, the next pull puts the copy
  /// together anew.
  ///
  /// - Parameters:
  ///   - id: Id of the datastore, private or shareable.
  ///   - folder: Where its devices meet.
  ///   - root: A directory for the copy, of its own: not that of a `DatastoreManager`, nor that of
  ///     another subscription. A device may take part in a datastore and follow it as well, in two
  ///     roots.
  ///   - policy: What is kept of it here.
  ///   - options: How the copy behaves. Their attachments, trash and mass delete limit do not
  ///     matter here.
  /// - Throws: `notFound` if there is no such folder, or no such datastore in it; `retryLater` if
  ///   the folder's cairn.json is only half there; errors of the folder (of a server, that it can't
  ///   be reached or refuses). Where no other file of the folder's list of datastores has it, also
  ///   what is wrong with one that can't be read: `retryLater` if it is half there or damaged,
  ///   `needsNewerVersion`.
  ///   `exists` if another datastore is followed in `root`, or if other datastores are there;
  ///   `alreadyOpen` if it is open here or in another process, or somebody subscribes there just
  ///   now; `parent` if root and folder lie inside one another;
  ///   `illegalArgument` for ids and addresses that can't be; `corrupt` and `needsNewerVersion` for
  ///   files at home; errors of the disk.
  public static func subscribe(
    to id: String, in folder: FolderLocation, root: String, policy: FollowPolicy = FollowPolicy(),
    options: Options = Options()
  ) async throws(CairnError) -> DatastoreFollower {
    let root = PathName.root(root)
    try checkApart(root, folder)
    return try await subscribe(
      to: id, in: folder, root: root, policy: policy, options: options,
      opener: try folder.opener(options.folderKinds, machine: .real), machine: .real)
  }

  static func subscribe(
    to id: String, in folder: FolderLocation, root: String, policy: FollowPolicy,
    options: Options, opener: @escaping @Sendable () -> any Folder, machine: Machine
  ) async throws(CairnError) -> DatastoreFollower {
    guard Identifier.isValidDatastore(id) else {
      throw CairnError(.illegalArgument, "\"\(id)\" can't be a datastore's id", id: id)
    }
    try policy.tables.check()
    if let known = try FollowFile.read(root, machine) {
      try check(known, is: id, root)
      return try DatastoreFollower(
        known, folder, root: root, policy: policy, options: options, opener: opener,
        machine: machine)
    }
    let file = try await look(for: id, in: ReadOnlyFolder(opener()), policy.tables.choice)
    return try DatastoreFollower(
      try begin(file, root, machine), folder, root: root, policy: policy, options: options,
      opener: opener, machine: machine)
  }

  private static func check(
    _ known: FollowFile, is id: String, _ root: String
  ) throws(CairnError) {
    guard known.id == id else {
      throw CairnError(
        .exists, "the datastore \(known.id) is followed in \(root) already; use another root for "
          + id, file: root, id: known.id)
    }
  }

  /// What there is to be followed.
  private static func look(
    for id: String, in folder: any Folder, _ tables: TableChoice
  ) async throws(CairnError) -> FollowFile {
    let identity = try await FollowedSource.identity(of: folder, id: id)
    var report = ExchangeReport()
    let found = try await FollowedCatalogue().entries(in: folder, identity: identity, &report)
    let entries = found.entries
    let entry = entries[id] ?? .nothing
    let file = FollowFile(
      id: id, generation: entry.generation, folder: identity, tables: tables)
    if entry.view != nil { return file }
    // It may be in there, and of which generation it is: that of a head may be over.
    if let error = found.withheld ?? found.unread { throw error }
    // Devices of which no app has ever exchanged the list are there all the same.
    let directory = FileName.directory(datastore: id, generation: entry.generation)
    let names = try await folder.list(directory).map(\.name)
    if names.contains(where: { FileName.headDevice($0) != nil }) { return file }
    let others = entries.filter { $0.value.view != nil }.keys.sorted()
    throw CairnError(
      .notFound,
      "there is no datastore \(id) in the folder" + (entry.generation > 0 ? " any more" : "")
        + (others.isEmpty ? "" : "; it has " + others.prefix(20).joined(separator: ", "))
        + (others.count > 20 ? " and \(others.count - 20) more" : ""), id: id)
  }

  /// Notes the subscription, in a root that has nothing else. Returns what is followed there then:
  /// somebody else may have been faster.
  private static func begin(
    _ file: FollowFile, _ root: String, _ machine: Machine
  ) throws(CairnError) -> FollowFile {
    let directory = root + "/" + FileName.followed
    var isTaken = false
    do throws(DiskError) {
      try machine.disk.createDirectory(root)
      isTaken = try !machine.disk.list(
        root,
        only: { FileName.generation(directory: $0) != nil || $0 == FileName.installation }
      ).isEmpty
      if !isTaken { try machine.disk.createDirectory(directory) }
    } catch { throw CairnError(error) }
    if isTaken {
      throw CairnError(
        .exists, "there are other datastores in \(root); follow in a root of its own", file: root)
    }
    let lock = try takeLock(root, machine)
    defer { lock.unlock() }
    if let known = try FollowFile.read(root, machine) {
      try check(known, is: file.id, root)
      return known
    }
    // What an unsubscription has left behind that was interrupted.
    do throws(DiskError) {
      try empty(directory, machine)
      for name in try leftovers(root, machine) { try machine.disk.removeTree(root + "/" + name) }
    } catch { throw CairnError(error) }
    try file.write(root, machine)
    return file
  }

  /// Who has it begins and ends subscriptions in a root, and opens the copy.
  private static func takeLock(
    _ root: String, _ machine: Machine
  ) throws(CairnError) -> any DiskLock {
    let directory = root + "/" + FileName.followed
    do throws(DiskError) {
      return try machine.disk.lock(directory + "/" + FileName.lock)
    } catch {
      guard error.reason == .locked else { throw CairnError(error) }
      throw CairnError(
        .alreadyOpen, "what is followed in \(root) is open; close it first", file: directory)
    }
  }

  /// Removes everything but the lock, which is held.
  private static func empty(_ directory: String, _ machine: Machine) throws(DiskError) {
    for entry in try machine.disk.list(directory) where entry.name != FileName.lock {
      try machine.disk.removeTree(directory + "/" + entry.name)
    }
  }

  /// Directories that an unsubscription has left which was interrupted at its very end. In a root
  /// of other datastores there are none of ours.
  private static func leftovers(_ root: String, _ machine: Machine) throws(DiskError) -> [String] {
    guard try machine.disk.info(root) != nil else { return [] }
    let entries = try machine.disk.list(
      root,
      only: {
        FileName.isTemporary($0) || FileName.generation(directory: $0) != nil
          || $0 == FileName.installation
      })
    guard entries.allSatisfy({ FileName.isTemporary($0.name) }) else { return [] }
    return entries.filter { $0.info.kind == .directory }.map(\.name)
  }

  /// Ends what is under way, and removes everything of the subscription from this device: the copy,
  /// contents of attachments, and that there was one. The folder is not asked, nor told.
  public func unsubscribe() throws(CairnError) {
    try close()
    try DatastoreFollower.unsubscribe(root: root, machine)
  }

  /// The same for one that is open nowhere, whatever state its files are in; also for what one has
  /// left behind that was interrupted.
  ///
  /// - Throws: `notFound` if nothing is followed there, `alreadyOpen` if it is open here or in
  ///   another process.
  public static func unsubscribe(root: String) throws(CairnError) {
    try unsubscribe(root: PathName.root(root), .real)
  }

  static func unsubscribe(root: String, _ machine: Machine) throws(CairnError) {
    let note = root + "/" + FileName.following
    let directory = root + "/" + FileName.followed
    let (hasNote, hasCopy, left): (Bool, Bool, [String])
    do throws(DiskError) {
      hasNote = try machine.disk.info(note) != nil
      hasCopy = try machine.disk.info(directory) != nil
      left = try leftovers(root, machine)
    } catch { throw CairnError(error) }
    guard hasNote || hasCopy || !left.isEmpty else {
      throw CairnError(.notFound, "nothing is followed in \(root)", file: note)
    }
    let lock = hasCopy ? try takeLock(root, machine) : nil
    defer { lock?.unlock() }
    do throws(DiskError) {
      // First the note: without it nothing of the copy counts.
      if hasNote {
        try machine.disk.remove(note)
        try machine.disk.syncDirectory(root)
      }
      if hasCopy {
        try empty(directory, machine)
        // Who subscribes here once it is unlocked makes a directory of its own.
        try Trash(root: root, machine: machine).remove(FileName.followed, releasing: lock)
      }
      for name in left { try machine.disk.removeTree(root + "/" + name) }
    } catch { throw CairnError(error) }
  }
}
