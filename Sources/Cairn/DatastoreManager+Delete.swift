internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import Synchronization

extension DatastoreManager {
  /// Removes a closed datastore.
  ///
  /// A local one is gone for good. One of an account is gone from this device at once, and from
  /// the account's other devices when they hear of it in a `refresh()`: what they had in it and not
  /// published is lost, too, though they keep their copies in `trash` for 30 days. A datastore of
  /// the same id that is created after that is another one.
  ///
  /// In the folder each installation that hears of it removes the files that are its own, contents
  /// of attachments 30 days later. Those of installations that are gone, with a device that was
  /// lost or an app that was installed anew, stay there: see <doc:Datastores> for what may be
  /// removed by hand.
  ///
  /// - Throws: `alreadyOpen` if it is open, `notFound` if neither this device nor the account has
  ///   it, `invalidOperation` if its id was deleted and created a million times.
  public func deleteDatastore(_ id: String) throws(CairnError) {
    try checkUsable()
    try checkNotFollowing()
    // Also if it is gone and some of its files could not be removed.
    defer { noteList() }
    try withClosedCopy(id) { (entry, device) throws(CairnError) in
      guard device != nil || entry.view != nil else { throw missing(id) }
      if isLocal { return }
      try installation.update { (file: inout InstallationFile) throws(CairnError) in
        // Somebody was faster: then it is that delete.
        guard file.entry(id).generation == entry.generation else { return }
        guard entry.generation < CatalogueEntry.generationMax else {
          throw CairnError(
            .invalidOperation, "\(id) was deleted and created too often; use another id", id: id)
        }
        file.say(id, CatalogueEntry(generation: entry.generation + 1, view: nil))
        if let device { file.devices.insert(OwnDevice(id, entry.generation, device)) }
      }
    }
  }

  /// Removes the local copy of a closed datastore of an account. Changes that are not published
  /// yet are lost. Opened again it is empty, and its first exchange fetches what the folder has.
  ///
  /// - Throws: `alreadyOpen` if it is open, `notFound` if there is no copy on this device, nor is
  ///   there one any more of a datastore that another device has deleted and that was closed since:
  ///   closing moves it to the trash; `invalidOperation` for a local datastore.
  public func uncacheDatastore(_ id: String) throws(CairnError) {
    guard !isLocal else {
      throw CairnError(
        .invalidOperation, "\(id) is a local datastore: its only copy is here; delete it", id: id)
    }
    try checkUsable()
    try checkNotFollowing()
    // As above.
    defer { noteList() }
    try removeCopy(id)
  }

  /// Removes the copy on this device, and says nothing to others.
  func removeCopy(_ id: String) throws(CairnError) {
    try withClosedCopy(id) { (entry, device) throws(CairnError) in
      guard let device else { throw missing(id) }
      if isLocal { return }
      try installation.update { file in
        _ = file.devices.insert(OwnDevice(id, entry.generation, device))
      }
    }
  }

  private func missing(_ id: String) -> CairnError {
    CairnError(.notFound, "there is no datastore \(id) in \(root)", id: id)
  }

  /// Calls `body` with what the list says of a datastore that is open nowhere, and its device if
  /// there is a copy here, which is destroyed after that.
  private func withClosedCopy(
    _ id: String, _ body: (CatalogueEntry, UInt64?) throws(CairnError) -> Void
  ) throws(CairnError) {
    guard Identifier.isValidDatastore(id) else { throw missing(id) }
    try locked { (state: inout State) throws(CairnError) in
      let entry = try entry(of: id)
      let name = FileName.directory(datastore: id, generation: entry.generation)
      guard try hasFiles(root + "/" + name) else { return try body(entry, nil) }
      // The lock is held while files go, so that nobody opens half a datastore.
      guard let lock = try lock(name) else {
        throw CairnError(.alreadyOpen, "close \(id) before it is removed", id: id)
      }
      defer { lock.unlock() }
      try body(entry, try device(name))
      try trash.destroy(name, releasing: lock)
      trash.purge()
    }
  }

  /// Whether there is a copy, or what is left of one: a crash while a directory is removed that
  /// can't be renamed has taken its CURRENT already.
  private func hasFiles(_ place: String) throws(CairnError) -> Bool {
    if try isThere(place) { return true }
    do { return try LostCurrent.isLost(place, disk: machine.disk) } catch {
      throw CairnError(error)
    }
  }

  var trash: Trash { Trash(root: root, machine: machine) }

  /// The lock of a datastore's directory; nil if it is open.
  private func lock(_ name: String) throws(CairnError) -> (any DiskLock)? {
    do throws(DiskError) {
      return try machine.disk.lock(root + "/" + name + "/" + FileName.lock)
    } catch {
      if error.reason == .locked { return nil }
      throw CairnError(error)
    }
  }

  /// Who wrote here; 0 if that can't be told any more.
  func device(_ name: String) throws(CairnError) -> UInt64 {
    let path = root + "/" + name + "/" + FileName.current
    do throws(LogError) {
      guard let bytes = try DurableFile.read(path, limit: 4096, disk: machine.disk) else {
        return 0
      }
      return try CurrentFile(bytes, path: path).device
    } catch {
      if case .disk = error.reason { throw CairnError(error) }
      return 0
    }
  }

  // MARK: deletes of other devices

  /// Ends the use of datastores that were deleted, and moves copies that are closed to the trash.
  /// Returns the ids that it is about.
  ///
  /// - Throws: the first error after all had their turn.
  func sweep() throws(CairnError) -> [String] {
    var failure: CairnError?
    let result = try sweep(&failure)
    if let failure { throw failure }
    return result
  }

  /// The same. `failure`: why the first of those that could not be moved could not.
  func sweep(_ failure: inout CairnError?) throws(CairnError) -> [String] {
    guard !isLocal, !isShutDown, following == nil else { return [] }
    var result: Set<String> = []
    // Nothing moves any more where only another root has still to be told.
    let isMoving = try MigrationJournal.read(root, disk: machine.disk)?.isInstalled == false
    let known = try installation.read()
    for copy in try copies() {
      let generation = known.entry(copy.id).generation
      guard copy.generation < generation else { continue }
      let open = state.withLock { $0.open[copy.id] }
      if let open, open.generation == copy.generation, open.isOpen {
        if open.markDeleted() { result.insert(copy.id) }
        continue
      }
      if isMoving { continue }
      do throws(CairnError) {
        if try clear(copy, known, generation) { result.insert(copy.id) }
      } catch { failure = failure ?? error }
    }
    trash.purge()
    return result.sorted()
  }

  /// Returns whether a copy of a generation that is over is gone from its place.
  private func clear(
    _ copy: Copy, _ known: InstallationFile, _ generation: UInt32
  ) throws(CairnError) -> Bool {
    // Removed by ourselves, but for the last step: nothing in it is to be kept.
    let device = OwnDevice(copy.id, copy.generation, try device(copy.directory))
    if known.devices.contains(device) { return try discard(copy) }
    return switch try rescue(copy, generation: generation) {
    case .rescued: true
    case .later: false
    case .none: try discard(copy)
    }
  }

  private func discard(_ copy: Copy) throws(CairnError) -> Bool {
    // Open in another process: that one hears of it, too.
    guard let lock = try lock(copy.directory) else { return false }
    defer { lock.unlock() }
    guard try isThere(root + "/" + copy.directory) else { return false }
    let device = OwnDevice(copy.id, copy.generation, try device(copy.directory))
    try installation.update { file in _ = file.devices.insert(device) }
    try trash.keep(copy.directory, releasing: lock)
    return true
  }

  private typealias OwnDevice = InstallationFile.OwnDevice
}

extension InstallationFile.OwnDevice {
  fileprivate init(_ id: String, _ generation: UInt32, _ device: UInt64) {
    self.init(id: id, generation: generation, device: device)
  }
}
