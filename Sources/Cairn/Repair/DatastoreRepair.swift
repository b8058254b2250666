internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// Makes a whole datastore of what a damaged one and the folder have, beside its place, and then
/// puts it there; the original goes to the trash as it is.
struct DatastoreRepair {
  let manager: DatastoreManager
  let id: String
  let generation: UInt32
  let name: String
  let usesFolder: Bool
  let staging: MigrationStaging
  private(set) var report: RepairReport
  /// It failed, and a journal that names what was staged may still be on the disk.
  private(set) var mayBeDecided = false
  /// As `RepairPast` says it.
  private var common: Dot?

  init(_ manager: DatastoreManager, id: String, generation: UInt32, usesFolder: Bool) {
    self.manager = manager
    self.id = id
    self.generation = generation
    self.usesFolder = usesFolder && manager.folder != nil
    name = FileName.directory(datastore: id, generation: generation)
    staging = MigrationStaging(
      root: manager.root, token: manager.machine.random.next(), machine: manager.machine)
    report = RepairReport(datastore: id)
  }

  private var machine: Machine { manager.machine }
  private var place: String { manager.root + "/" + name }
  private var target: String { manager.root + "/" + FileName.staging(staging.token, name) }
  private var scratch: String { staging.scratch }
  private var identity: UInt128 { DatastoreManager.identity(of: id, generation: generation) }

  // MARK: what is wrong

  /// Looks whether there is anything to repair, with the datastore's lock held.
  mutating func examine() {
    let root = ExaminedRoot(
      root: manager.root, account: manager.account, folder: nil, machine: machine)
    var datastore = ExaminedDatastore(
      id: id, generation: generation, directory: place, name: name, root: root)
    var findings = CurrentCheck.run(&datastore)
    findings += SnapshotFileCheck.run(&datastore)
    let info = datastore.directory + "/" + FileName.info
    for finding in LogCheck.run(&datastore) {
      // That the log has lost its end leaves nothing to mend here.
      if finding.file == info { report.lostEnd = finding.message } else { findings.append(finding) }
    }
    if !manager.isLocal { findings += PublishedCheck.read(&datastore) }
    // What the next opening mends by itself is none of ours.
    report.findings = findings.filter { $0.severity == .error }
  }

  // MARK: the work

  /// Puts the new one together in the staging directory. Nothing else changes.
  mutating func prepare() async throws(CairnError) {
    // One that can't be read may still be whole.
    if !manager.isLocal { _ = try publication() }
    do throws(DiskError) { try machine.disk.createDirectory(scratch) } catch {
      throw CairnError(error)
    }
    let (directory, identity, machine) = (place, identity, machine)
    let (isLinked, scratch) = (!manager.isLocal, scratch)
    let salvage = try wrapped { () throws(StoreError) in
      try StoreSalvage(
        directory, datastore: identity, isLinked: isLinked, scratch: scratch, machine: machine)
    }
    defer {
      // It has nothing of its own.
      do throws(StoreError) { try salvage.store.close() } catch {}
    }
    report.losses = salvage.losses.map { RepairReport.Loss($0) }
    (report.snapshotRecords, report.logDeltas) = (salvage.rows, salvage.deltas)
    report.mendedBits = salvage.mendedBits
    report.oldDevice = salvage.device?.description
    let path = target
    let store = try wrapped { () throws(StoreError) in
      try Store.open(
        path, datastore: identity, isLinked: isLinked, options: MigrationStaging.options,
        machine: machine)
    }
    do throws(CairnError) {
      if usesFolder { try await fetch(into: store, beside: salvage) }
      try merge(salvage, into: store)
      report.device = store.device.description
      report.records = store.totals.records
      let summary = try wrapped { () throws(StoreError) in try store.summary() }
      try takeBlobs(into: store)
      try takeTrash()
      if usesFolder { try keepDeleted(salvage, in: store) }
      try wrapped { () throws(StoreError) in try store.close() }
      try staging.describe(path, summary)
      if manager.isLocal { try takeRole() }
    } catch {
      // The first error says more than what closing might add.
      do throws(StoreError) { try store.close() } catch {}
      throw error
    }
  }

  private mutating func merge(_ salvage: StoreSalvage, into store: Store) throws(CairnError) {
    do throws(StoreError) {
      // Deltas of others that the log has as they came: they need no folder.
      if !manager.isLocal { try take(salvage.packs, into: store) }
      if store.isBlank {
        var merge = MigrationMerge(id: id, source: salvage.store, target: store)
        try merge.run()
        report.reinserted = merge.moved.records
      } else {
        var merge = RepairMerge(salvage, of: place, target: store, common: common)
        try merge.run()
        report.reinserted = merge.records
        report.losses += merge.losses.map { RepairReport.Loss($0) }
      }
    } catch { throw CairnError(error) }
  }

  /// A frame of the log has room for some packs only. Those that wait for another one are tried
  /// again once all were.
  private func take(_ packs: [[UInt8]], into store: Store) throws(StoreError) {
    var hasProgress = true
    while hasProgress {
      hasProgress = false
      var rest = packs[...]
      while let first = rest.popFirst() {
        var batch = [first]
        var bytes = first.count
        while let next = rest.first, bytes + next.count <= Exchange.batchBytes {
          bytes += next.count
          batch.append(next)
          rest.removeFirst()
        }
        if try store.sync(packs: batch).appliedCount > 0 { hasProgress = true }
      }
    }
  }

  /// The contents of attachments: those that the damaged copy has, whatever became of its records.
  private func takeBlobs(into store: Store) throws(CairnError) {
    try staging.copyBlobs(from: place, to: target)
    let found = try wrapped { () throws(StoreError) in
      try store.values(beginningWith: BlobReference.magic).found
    }
    if found.isEmpty { return }
    // What is not here has to be looked for in the folder.
    do { try machine.disk.createDirectory(target + "/" + FileName.blobs) } catch {
      throw CairnError(error)
    }
  }

  /// That a local datastore was created here: nothing else says it.
  private func takeRole() throws(CairnError) {
    guard try RoleNote.isCreated(place, machine: machine) else { return }
    do throws(LogError) {
      try DurableFile.replace(
        directory: target, name: FileName.role, bytes: RoleNote.encode(.owner), machine: machine)
    } catch { throw CairnError(error) }
  }

  /// The records that others have deleted: for as long as if nothing had happened.
  private mutating func takeTrash() throws(CairnError) {
    let old = place + "/" + FileName.trash
    let new = target + "/" + FileName.trash
    do throws(LogError) {
      for name in try trashed(old) {
        do throws(LogError) {
          let limit = DeletedFile.bytesMax
          let bytes = try DurableFile.read(old + "/" + name, limit: limit, disk: machine.disk)
          guard let bytes else { continue }
          _ = try DeletedFile(bytes, path: old + "/" + name, of: identity)
          do { try machine.disk.createDirectory(new) } catch { throw LogError(error) }
          try DurableFile.replace(directory: new, name: name, bytes: bytes, machine: machine)
        } catch {
          // One that may be whole is no loss.
          if error.saysUnread { throw error }
          report.losses.append(
            RepairReport.Loss(
              file: old + "/" + name, offset: error.offset,
              message: "\(error.detail); the deleted records in it are lost here"))
        }
      }
    } catch { throw CairnError(error) }
  }

  /// What the copy still had and others have deleted: nobody was shown that, or asked.
  private mutating func keepDeleted(
    _ salvage: StoreSalvage, in store: Store
  ) throws(CairnError) {
    let (copy, unnamed, options) = (salvage.store, salvage.unnamed, manager.options)
    let count = try wrapped { () throws(StoreError) in
      try store.keepDeleted(of: copy, except: unnamed, options: options.stored)
    }
    guard let limit = options.massDeleteLimit else { return }
    let all = copy.totals.records
    if count <= limit.records(of: all) { return }
    let isKept = options.stored.trashMilliseconds > 0 && options.stored.trashBytes > 0
    let rest = isKept ? "what there was room for is in its trash" : "the original has them"
    report.losses.append(
      RepairReport.Loss(
        file: place, offset: nil,
        message: "other devices have deleted \(count) of the \(all) records that were here, and "
          + "nobody could be asked: they are not in the repaired datastore; \(rest)"))
  }

  private func trashed(_ directory: String) throws(LogError) -> [String] {
    do throws(DiskError) {
      guard try machine.disk.info(directory) != nil else { return [] }
      return try machine.disk.list(directory).map(\.name).filter {
        FileName.deletedNumber($0) != nil
      }.sorted()
    } catch { throw LogError(error) }
  }

  // MARK: the folder

  /// Takes everything that the folder has, the damaged copy's own published deltas among it.
  ///
  /// What was published and is not there just now is taken from the copy, under the names that it
  /// has: put back as changes of another device it would count twice once it is there again.
  private mutating func fetch(
    into store: Store, beside salvage: StoreSalvage
  ) async throws(CairnError) {
    guard let folder = manager.folder?(), let account = manager.account else { return }
    guard try await isRightFolder(folder, devices(salvage)) else { return }
    let exchange = try Exchange(
      store: store, datastoreID: id, directory: name, user: account.user, folder: folder,
      graceMilliseconds: .max, massDeleteLimit: nil, tuning: Tuning(), machine: machine)
    try await fetch(by: exchange)
    let past = RepairPast(
      id: id, directory: place, copy: try seen(salvage),
      // Where CURRENT and the log tell nothing, an outbox may.
      device: salvage.device ?? salvage.touched.last?.dot.device,
      publication: try publication(), exchange: exchange)
    let home = histories(salvage)
    common = try await past.common(home)
    if past.lacking.isEmpty { return }
    do throws(StoreError) { try take(salvage.packs, into: store) } catch {
      throw CairnError(error)
    }
    let own = try past.ownPacks(machine.disk)
    do throws(StoreError) { try take(own, into: store) } catch { throw CairnError(error) }
    // Files that are there may have waited for that.
    try await fetch(by: exchange)
    common = try await past.common(home)
    try past.requireWhole(report.waiting)
  }

  /// What the copy has. Where its snapshot does not say it any more, CHAINS and PUBLISHED do. The
  /// first counts what only waits, too: at worst a repair waits for what it does not need.
  private func seen(_ salvage: StoreSalvage) throws(CairnError) -> VersionVector {
    var seen = salvage.store.vector
    if salvage.hasVector { return seen }
    for (device, marks) in histories(salvage).marks {
      if let last = marks.last { seen.insert(Dot(device: device, sequence: last.sequence)) }
    }
    guard let found = try publication() else { return seen }
    do throws(LogError) {
      let head = try Head(found.head, name: place, datastore: identity)
      // One of an earlier name may be of a history that has lost.
      guard head.device == salvage.device else { return seen }
      seen.merge(head.acknowledged)
      if head.last > 0 { seen.insert(Dot(device: head.device, sequence: head.last)) }
    } catch {
      // It tells nothing then.
    }
    return seen
  }

  /// CHAINS of the damaged copy, unless it is of before that was put together anew: of histories
  /// that may have lost.
  private func histories(_ salvage: StoreSalvage) -> Histories {
    let saved = Exchange.readHistories(place, machine)
    return salvage.rejoinings ?? saved.rejoinings == saved.rejoinings ? saved : Histories()
  }

  private mutating func fetch(by exchange: Exchange) async throws(CairnError) {
    // A snapshot first, and then what came after it.
    for _ in 0..<3 {
      let round = try await exchange.fetchOnly()
      report.fetchedDeltas += Int(clamping: round.fetchedDeltas)
      report.waiting = round.waiting
      _ = try exchange.sync(allowingMassDelete: true)
      if round.fetchedFiles == 0 { break }
    }
    // Until the first round nothing else tells which folder it came from.
    exchange.saveHistories()
  }

  /// Whether there is anything in the folder. One that can't be read, or is another one than the
  /// datastore was exchanged with, is an error: half a repair would be no repair.
  private func isRightFolder(
    _ folder: any Folder, _ devices: Set<DeviceID>
  ) async throws(CairnError) -> Bool {
    let file = FileName.folderIdentity
    let known = try knownFolder()
    let isUntold = known == 0 ? try StoredLinkage.wasExchanged(place, disk: machine.disk) : false
    guard let bytes = try await folder.read(file, limit: FolderIdentity.bytesMax) else {
      if known == 0, !isUntold { return false }
      throw CairnError(
        .notFound,
        "the shared folder is empty, not there, or not the one that \(id) was exchanged with, and "
          + "a repair needs it: what was published is taken from there. Nothing was changed. If it "
          + "is gone for good, repair without the folder", file: file, id: id)
    }
    let identity: UInt128
    do { identity = try FolderIdentity.decode(bytes, path: file) } catch {
      throw CairnError(error)
    }
    guard known == 0 || known == identity else {
      throw CairnError(
        .disallowed,
        "this is another shared folder than the one that \(id) was exchanged with; nothing was "
          + "changed. Choose the right folder and repeat the repair", file: file, id: id)
    }
    if isUntold, try await !StoredLinkage.hasFile(of: devices, in: folder, name) {
      throw CairnError(
        .disallowed,
        "this shared folder has no file of a device that \(id) knows: it is another one than the "
          + "one that \(id) was exchanged with, or not all there yet; nothing was changed. Choose "
          + "the right folder, or wait for it, and repeat the repair", file: file, id: id)
    }
    return true
  }

  /// The identity of the folder that was exchanged with; 0 if nothing tells it.
  private func knownFolder() throws(CairnError) -> UInt128 {
    if let publication = try publication(), publication.folder != 0 { return publication.folder }
    return try manager.installation.read().folder
  }

  /// PUBLISHED; nil if it is not there, or damaged.
  private func publication() throws(CairnError) -> PublicationFile? {
    let path = place + "/" + FileName.publication
    do throws(LogError) {
      let limit = Head.bytesMax * 2
      guard let bytes = try DurableFile.read(path, limit: limit, disk: machine.disk) else {
        return nil
      }
      return try PublicationFile(bytes, path: path)
    } catch {
      switch error.reason {
      case .needsNewerVersion, .disk: throw CairnError(error)
      default: return nil
      }
    }
  }

  /// All devices that the damaged copy is known to have something of, itself among them.
  private func devices(_ salvage: StoreSalvage) -> Set<DeviceID> {
    var devices = Set(Exchange.readHistories(place, machine).marks.keys)
    for dot in salvage.store.vector.entries { devices.insert(dot.device) }
    if let own = salvage.device { devices.insert(own) }
    return devices
  }

  // MARK: the end

  /// Puts the new one into its place and the original into the trash. From the journal on it only
  /// goes forward: after a crash the next use of the root does the rest. For who has the lock of
  /// the original.
  mutating func install(releasing lock: any DiskLock) throws(CairnError) {
    if !manager.isLocal, let text = report.oldDevice, let device = UInt64(text, radix: 16) {
      // If the datastore is ever deleted, the old device's files are ours to remove.
      let own = InstallationFile.OwnDevice(id: id, generation: generation, device: device)
      try manager.installation.update { _ = $0.devices.insert(own) }
    }
    var locks = MigrationLocks(machine: machine)
    defer { locks.release() }
    try locks.take(manager.root)
    try manager.checkNothingMoves(id)
    // Whoever completes this does not know what was wrong, and what has no reason goes by itself.
    try staging.note(reason: reason)
    try MigrationJournal(
      flags: MigrationJournal.flagTarget, token: staging.token, other: "",
      items: [MigrationJournal.Item(directory: name, source: "")]
    ).write(manager.root, machine: machine)
    do throws(CairnError) {
      report.original = try staging.displace(name, releasing: lock)
    } catch {
      takeBack()
      throw error
    }
    do { try machine.disk.move(target, to: place, syncing: manager.root) } catch {
      throw CairnError(error)
    }
    try MigrationJournal.remove(manager.root, disk: machine.disk)
    do throws(CairnError) { try staging.discard() } catch {}
  }

  /// The original can't be put away. As long as nothing has moved it is not decided after all: a
  /// journal that nobody can complete would shut the whole root.
  private mutating func takeBack() {
    do throws(CairnError) {
      guard try staging.isUntouched(name) else { return }
      try MigrationJournal.remove(manager.root, disk: machine.disk)
    } catch {
      // A power cut may bring the journal back, and then the next use of the root completes it.
      mayBeDecided = true
    }
  }

  private var reason: String {
    let what = report.findings.map { "- " + $0.message }.joined(separator: "\n")
    return "the original of a datastore that was repaired, as it was:\n\(what)"
  }

  /// Takes back what was staged.
  func discard() {
    // What is left goes by itself after a week.
    do throws(CairnError) { try staging.discard() } catch {}
  }
}

extension RepairReport.Loss {
  init(_ loss: SalvageLoss) {
    self.init(file: loss.path, offset: loss.offset, message: loss.message)
  }
}
