internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// The exchange of an account's list of datastores with its folder. One round at a time, in this
/// process and in others that work on the same root.
final class CatalogueExchange: Sendable {
  let root: String
  let folder: any Folder
  let machine: Machine
  let quarantine: Quarantine
  private let turn = ExchangeTurn()
  let memory = Lock(Memory())

  /// What rounds remember of one another; nothing here is needed for correctness.
  struct Memory {
    var folderIdentity: UInt128?
    var identityAttempt = IdentityAttempt()
    /// Rounds in which the folder's identity was known: it is looked at again after some of them.
    var roundsInFolder = 0
    /// What a crash left in the root's quarantine was looked for.
    var hasSwept = false
    /// The own file as the folder has it, if that is known to be one that was written from here.
    var own: OwnFile?
    /// How often in a row the folder has not given that file.
    var ownRefusals = 0
    /// Verdicts on files that can't be used, by name.
    var refused: [String: (version: String, verdict: Verdict)] = [:]
    /// When those that may only have been damaged on their way are read again, by name.
    var retries: [String: Retry] = [:]
    /// Files that delete too much at once, as they are in the folder: what the installation's file
    /// has of them says less.
    var held: [UInt64: InstallationFile.Other] = [:]
    /// When files of deleted datastores that could not be removed are tried again, by their device.
    var removals: [InstallationFile.OwnDevice: Retry] = [:]
    /// The one among them that was refused last.
    var refusedRemoval: String?
  }

  struct OwnFile {
    var version: String
    var nonce: UInt64
  }

  enum Verdict {
    case waiting(ExchangeReport.Waiting)
    case problem(ExchangeReport.Problem)
    /// It says nothing new.
    case ignored
  }

  init(root: String, folder: any Folder, machine: Machine) {
    self.root = root
    self.folder = folder
    self.machine = machine
    var quarantine = Quarantine(directory: root + "/" + FileName.quarantine, machine: machine)
    quarantine.whileHeld = { make in
      // It would make a root anew that somebody has removed during the round.
      do throws(DiskError) { if try machine.disk.info(root) == nil { return } } catch {}
      make()
    }
    self.quarantine = quarantine
  }

  /// Where hints of changes come from.
  var watchedDirectory: String? {
    (folder as? DirectoryFolder).map { $0.path + "/" + FileName.catalogue }
  }

  /// One round, after those that were asked for before.
  func run(
    _ manager: DatastoreManager, allowingMassDelete: Bool
  ) async throws(CairnError) -> CatalogueReport {
    let result = await turn.run { () async -> Result<CatalogueReport, CairnError> in
      do throws(CairnError) {
        try manager.installation.checkInUse()
        try manager.checkRoot()
        let lock = try await self.takeLock()
        defer { lock.unlock() }
        self.sweepOnce()
        return .success(try await self.round(manager, allowingMassDelete))
      } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// Ends what goes on with the folder.
  func cancel() { turn.cancel() }

  /// Only one process writes the own file.
  private func takeLock() async throws(CairnError) -> any DiskLock {
    do throws(DiskError) {
      if try machine.disk.info(root) == nil { try machine.disk.createDirectory(root) }
    } catch { throw CairnError(error) }
    for attempt in 0..<200 {
      do throws(DiskError) {
        return try machine.disk.lock(root + "/" + FileName.exchangeLock)
      } catch {
        if error.reason != .locked { throw CairnError(error) }
      }
      do { try await Task.sleep(for: .milliseconds(min(attempt, 20))) } catch {
        throw CairnError(.cancelled, "the exchange of the list of datastores was cancelled")
      }
    }
    throw CairnError(
      .retryLater, "another process exchanges the list of datastores in \(root) just now",
      file: root + "/" + FileName.exchangeLock)
  }

  /// Only who holds the lock puts anything there.
  private func sweepOnce() {
    let isFirst = memory.withLock { memory in
      defer { memory.hasSwept = true }
      return !memory.hasSwept
    }
    if isFirst { quarantine.sweep() }
  }

  private func round(
    _ manager: DatastoreManager, _ allowsMassDelete: Bool
  ) async throws(CairnError) -> CatalogueReport {
    let installation = manager.installation
    var report = CatalogueReport()
    let wasKnown = memory.withLock { $0.folderIdentity != nil }
    try await checkFolder(manager, &report)
    report.requests += 1
    let entries = try await folder.list(FileName.catalogue)
    if wasKnown { try await checkFounding(manager, entries, &report) }
    let mayPublish = try await checkOwn(manager, entries, &report)
    // A file of another folder makes the next round look again; this one goes by what it found.
    let identity = memory.withLock { $0.folderIdentity }
    var found = try await readOthers(try installation.read(), entries, identity, &report)
    let views = try publishedViews(manager)
    let before = try installation.read()
    let limit = allowsMassDelete ? nil : manager.options.massDeleteLimit
    report.heldDeletes = hold(&found, before, views, limit)
    try installation.update { file in
      for (number, other) in found {
        var next = other
        if let known = file.others[number]?.file {
          // An older one that has come back is not read again.
          if known.revision > other.file.revision { next.file = known }
          // Nobody drops entries: one that lacks some is of a root that was restored, and counts on
          // from what it was.
          next.file.entries = Catalogue.merged([known, other.file])
        }
        file.others[number] = next
      }
      CatalogueExchange.adopt(views, &file)
    }
    var failure: CairnError?
    report.deleted = try manager.sweep(&failure)
    // Before anything that the folder may refuse: what was heard is so all the same.
    let after = try installation.read()
    if !report.isIdle || before != after { manager.noteList() }
    var isFull = false
    if mayPublish {
      do throws(CairnError) { try await publish(installation, identity, &report) } catch {
        // Files of what is deleted may be all that takes the room.
        guard BlobExchange.saysFull(error) else { throw error }
        (isFull, failure) = (true, error)
      }
    }
    if report.hasPublished { manager.noteList() }
    try await removeDeadFiles(installation, onlyTold: isFull, &report)
    // What can't be moved here keeps nobody from being told.
    if let failure { throw failure }
    return report
  }

  /// The views of copies here of which everything own is in the folder.
  private func publishedViews(
    _ manager: DatastoreManager
  ) throws(CairnError) -> [(id: String, entry: CatalogueEntry)] {
    var result: [(id: String, entry: CatalogueEntry)] = []
    for copy in try manager.copies() {
      guard let view = try manager.info(of: copy)?.published else { continue }
      result.append((copy.id, CatalogueEntry(generation: copy.generation, view: view)))
    }
    return result
  }

  /// Says what is here, and what was heard to be deleted: so a delete is known for as long as one
  /// installation is that heard of it.
  private static func adopt(
    _ views: [(id: String, entry: CatalogueEntry)], _ file: inout InstallationFile
  ) {
    for (id, entry) in file.merged {
      let own = file.own.entries[id] ?? .nothing
      if entry.generation > own.generation {
        file.say(id, CatalogueEntry(generation: entry.generation, view: nil))
      }
    }
    for (id, entry) in views {
      // A copy of a generation that is over says nothing any more.
      let own = file.own.entries[id] ?? .nothing
      if entry.generation == own.generation { file.say(id, own.joined(entry)) }
    }
  }

  // MARK: writing

  /// Longer than others read, it would be waited for by all of them, for ever.
  private func checkSize(_ own: CatalogueFile) throws(CairnError) {
    let count = own.encoded().count
    guard count > CatalogueFile.bytesMax else { return }
    throw CairnError(
      .sizeLimit,
      "what this device says of datastores has \(count) bytes, \(CatalogueFile.bytesMax) at most "
        + "are read by others: what is in the folder stays as it was. Delete datastores or shorten "
        + "their titles; where most were deleted already, begin with a new folder. If they are not "
        + "yours, see which files in the folder's \(FileName.catalogue) belong there",
      file: root + "/" + FileName.installation)
  }

  private func publish(
    _ installation: Installation, _ identity: UInt128?, _ report: inout CatalogueReport
  ) async throws(CairnError) {
    let seen = memory.withLock { $0.own }
    let own = try installation.update {
      (file: inout InstallationFile) throws(CairnError) -> CatalogueFile? in
      if let identity, file.folder != identity {
        file.folder = identity
        if file.own.revision > 0 { file.isPublished = false }
      }
      if file.isPublished { return nil }
      try checkSize(file.own)
      // Before it goes up, so that it is known again whatever happens on the way.
      // What could not be written is taken for never having been there, however often it was tried.
      if let seen { file.confirmedNonce = seen.nonce }
      while file.installation == 0 { file.installation = machine.random.next() }
      file.own.installation = file.installation
      file.own.folder = file.folder
      file.own.revision += 1
      file.own.nonce = machine.random.next()
      file.isPublished = true
      return file.own
    }
    guard let own else { return }
    memory.withLock { $0.own = nil }
    let bytes = own.encoded()
    let name = FileName.catalogue(installation: own.installation)
    report.requests += 1
    let entry = try await folder.write(FileName.catalogue + "/" + name, bytes)
    guard entry.size == UInt64(bytes.count) else {
      throw CairnError(
        .response, "the folder kept \(entry.size) of \(bytes.count) bytes of \(name)", file: name)
    }
    try installation.update { $0.confirmedNonce = own.nonce }
    memory.withLock { memory in
      (memory.own, memory.ownRefusals) = (OwnFile(version: entry.version, nonce: own.nonce), 0)
    }
    report.hasPublished = true
  }
}
