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
  /// - Throws: `notFound` if there is no such folder, or no such datastore in it, `exists` if
  ///   another datastore is followed in `root`, or if other datastores are there, `illegalArgument`
  ///   for ids that can't be, and what opening throws.
  public static func subscribe(
    to id: String, in folder: FolderLocation, root: String, policy: FollowPolicy = FollowPolicy(),
    options: Options = Options()
  ) async throws(CairnError) -> DatastoreFollower {
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
      guard known.id == id else {
        throw CairnError(
          .exists, "the datastore \(known.id) is followed in \(root) already; use another root for "
            + id, file: root, id: known.id)
      }
      return try DatastoreFollower(
        known, folder, root: root, policy: policy, options: options, opener: opener,
        machine: machine)
    }
    let file = try await look(for: id, in: ReadOnlyFolder(opener()), policy.tables.choice)
    try begin(file, root, machine)
    return try DatastoreFollower(
      file, folder, root: root, policy: policy, options: options, opener: opener,
      machine: machine)
  }

  /// What there is to be followed.
  private static func look(
    for id: String, in folder: any Folder, _ tables: TableChoice
  ) async throws(CairnError) -> FollowFile {
    let identity = try await FollowedSource.identity(of: folder, id: id)
    var report = ExchangeReport()
    let entries = try await FollowedCatalogue().entries(
      in: folder, identity: identity, &report)
    let entry = entries[id] ?? .nothing
    let file = FollowFile(
      id: id, generation: entry.generation, folder: identity, tables: tables)
    if entry.view != nil { return file }
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

  /// Notes the subscription, in a root that has nothing else.
  private static func begin(
    _ file: FollowFile, _ root: String, _ machine: Machine
  ) throws(CairnError) {
    let names: [String]
    do throws(DiskError) {
      try machine.disk.createDirectory(root)
      names = try machine.disk.list(root).map(\.name)
    } catch { throw CairnError(error) }
    let isTaken = names.contains {
      FileName.generation(directory: $0) != nil || $0 == FileName.installation
    }
    if isTaken {
      throw CairnError(
        .exists, "there are other datastores in \(root); follow in a root of its own", file: root)
    }
    // What an unsubscription has left behind that was interrupted.
    try removeCopy(root, machine)
    try file.write(root, machine)
  }

  /// Ends what is under way, and removes everything of the subscription from this device: the copy,
  /// contents of attachments, and that there was one. The folder is not asked, nor told.
  public func unsubscribe() throws(CairnError) {
    try close()
    try DatastoreFollower.unsubscribe(root: root, machine)
  }

  /// The same for one that is open nowhere, whatever state its files are in.
  ///
  /// - Throws: `notFound` if nothing is followed there, `alreadyOpen` if it is open here or in
  ///   another process.
  public static func unsubscribe(root: String) throws(CairnError) {
    try unsubscribe(root: root, .real)
  }

  static func unsubscribe(root: String, _ machine: Machine) throws(CairnError) {
    let path = root + "/" + FileName.following
    let isThere: Bool
    do { isThere = try machine.disk.info(path) != nil } catch { throw CairnError(error) }
    guard isThere else {
      throw CairnError(.notFound, "nothing is followed in \(root)", file: path)
    }
    try removeCopy(root, machine, note: path)
  }

  /// Removes the files of a copy that nobody has open; before them the note, without which nothing
  /// of them counts.
  private static func removeCopy(
    _ root: String, _ machine: Machine, note: String? = nil
  ) throws(CairnError) {
    let directory = root + "/" + FileName.followed
    do throws(DiskError) {
      var lock: (any DiskLock)?
      defer { lock?.unlock() }
      if try machine.disk.info(directory) != nil {
        lock = try machine.disk.lock(directory + "/" + FileName.lock)
      }
      if let note {
        try machine.disk.remove(note)
        try machine.disk.syncDirectory(root)
      }
      try machine.disk.removeTree(directory)
    } catch {
      if error.reason == .locked {
        throw CairnError(
          .alreadyOpen, "what is followed in \(root) is open; close it first", file: directory)
      }
      throw CairnError(error)
    }
  }
}
