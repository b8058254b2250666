internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// Puts datastores together beside their places in a root, and then into them.
struct MigrationStaging: Sendable {
  let root: String
  let token: UInt64
  let machine: Machine

  /// Makes a linked datastore, in a staging directory, from a copy of the one that is there (or
  /// from nothing) and the content of `source`. All of it is durable when this returns. With a
  /// policy the source is a local datastore, which may have no owner yet.
  func stage(
    _ source: Store, id: String, generation: UInt32, for policy: AccessPolicy? = nil
  ) throws(CairnError) -> MigrationReport.Moved {
    let name = FileName.directory(datastore: id, generation: generation)
    let staging = root + "/" + FileName.staging(token, name)
    // What is in it would go to the trash, and nobody would hear of it.
    try LostCurrent.check(root + "/" + name, id: id, disk: machine.disk)
    do throws(DiskError) {
      try machine.disk.removeTree(staging)
      if try machine.disk.info(root + "/" + name + "/" + FileName.current) != nil {
        // What was fetched can be fetched again; a lock is nobody's content.
        try machine.disk.copyTree(
          root + "/" + name, to: staging, leavingOut: [FileName.lock, FileName.inbox])
      }
    } catch { throw CairnError(error) }
    let owner = try newOwner(policy, of: id, source)
    let (moved, summary) = try wrapped {
      () throws(StoreError) -> (MigrationReport.Moved, StoreSummary) in
      let target = try Store.open(
        staging, datastore: DatastoreManager.identity(of: id, generation: generation),
        isLinked: true, options: MigrationStaging.options, machine: machine)
      var merge = MigrationMerge(id: id, source: source, target: target)
      do throws(StoreError) {
        try merge.run()
        if let owner { try claim(target, owner) }
      } catch {
        // The first error says more than what closing might add.
        do throws(StoreError) { try target.close() } catch {}
        throw error
      }
      let summary = try target.summary()
      try target.close()
      return (merge.moved, summary)
    }
    try copyBlobs(from: source.directory, to: staging)
    try describe(staging, summary)
    return moved
  }

  /// Who is to own what is moved, if nobody does: who has created it, as in an account, or has
  /// given roles, as whoever does so first in an account. Without an owner roles bind nobody.
  private func newOwner(
    _ policy: AccessPolicy?, of id: String, _ source: Store
  ) throws(CairnError) -> AccessPolicy? {
    guard let policy, Identifier.isValidShareable(id) else { return nil }
    if try RoleNote.isCreated(source.directory, machine: machine) { return policy }
    let list = try wrapped { () throws(StoreError) in try source.accessList() }
    return list.isEmpty ? nil : policy
  }

  private func claim(_ target: Store, _ owner: AccessPolicy) throws(StoreError) {
    try target.limitAccess(owner)
    try target.claim()
    _ = try target.sync()
  }

  /// Where what is not to become a part of a datastore may be put.
  var scratch: String { root + "/" + FileName.staging(token, "scratch") }

  /// Why what is displaced has to be kept, durably: for who puts things into their places, however
  /// often that is interrupted. Its place in the trash is made now, and noted by a directory of its
  /// name: on a disk that is full by then nobody could, and the whole root would be shut.
  func note(reason: String) throws(CairnError) {
    do throws(DiskError) { try machine.disk.createDirectory(scratch) } catch {
      throw CairnError(error)
    }
    do throws(LogError) {
      try DurableFile.replace(
        directory: scratch, name: FileName.trashReason, bytes: Array(reason.utf8),
        machine: machine)
    } catch { throw CairnError(error) }
    let time = try trash.prepare(reason: reason)
    do { try machine.disk.createDirectory(scratch + "/\(time)") } catch {
      trash.removeUnused(time)
      throw CairnError(error)
    }
  }

  private var trash: Trash { Trash(root: root, machine: machine) }

  /// The place in the trash that was made; nil if none was.
  private func prepared() throws(DiskError) -> Int64? {
    guard try machine.disk.info(scratch) != nil else { return nil }
    return try machine.disk.list(scratch).first {
      $0.info.kind == .directory && Int64($0.name) != nil
    }.flatMap { Int64($0.name) }
  }

  /// Moves what is in a place to the trash; returns where it is now. Without a reason it goes from
  /// there after 30 days. Whoever has its lock gives that here.
  @discardableResult
  func displace(
    _ directory: String, releasing lock: (any DiskLock)?
  ) throws(CairnError) -> String {
    let time: Int64?
    do { time = try prepared() } catch { throw CairnError(error) }
    if let time, let kept = try trash.keep(directory, at: time, releasing: lock) { return kept }
    return try trash.keep(directory, reason: try reason(), releasing: lock)
  }

  /// Who was killed just after what is displaced got its name in the trash has not made that
  /// durable.
  private func settleDisplaced() throws(CairnError) {
    do throws(DiskError) {
      guard let time = try prepared() else { return }
      let place = "\(root)/\(FileName.trash)/\(time)"
      if try machine.disk.info(place) != nil { try machine.disk.syncDirectory(place) }
    } catch { throw CairnError(error) }
  }

  /// Whether what is staged is still there, and so is all of what it is to displace: nothing came
  /// to the place in the trash that was made for that, not even a copy.
  func isUntouched(_ directory: String) throws(CairnError) -> Bool {
    do throws(DiskError) {
      guard try machine.disk.info(root + "/" + FileName.staging(token, directory)) != nil,
        try machine.disk.info(root + "/" + directory) != nil, let time = try prepared()
      else { return false }
      let place = "\(root)/\(FileName.trash)/\(time)"
      if try machine.disk.info(place) == nil { return false }
      return try machine.disk.info(place + "/" + directory) == nil
    } catch { throw CairnError(error) }
  }

  /// What was noted; nil if nothing was.
  private func reason() throws(CairnError) -> String? {
    do throws(LogError) {
      let path = scratch + "/" + FileName.trashReason
      return try DurableFile.read(path, limit: 1 << 20, disk: machine.disk).map {
        String(decoding: $0, as: UTF8.self)
      }
    } catch { throw CairnError(error) }
  }

  /// The contents of attachments, as far as they are not there. Those that nobody has published
  /// stay such.
  func copyBlobs(from source: String, to target: String) throws(CairnError) {
    let (old, new) = (source + "/" + FileName.blobs, target + "/" + FileName.blobs)
    do throws(DiskError) {
      guard try machine.disk.info(old) != nil else { return }
      try machine.disk.createDirectory(new)
      let there = Set(try machine.disk.list(new).compactMap { FileName.blob($0.name)?.hash })
      for entry in try machine.disk.list(old) where entry.info.kind == .file {
        guard let (hash, _) = FileName.blob(entry.name), !there.contains(hash) else { continue }
        try machine.disk.copyFile(old + "/" + entry.name, to: new + "/" + entry.name)
      }
      try machine.disk.syncDirectory(new)
    } catch { throw CairnError(error) }
  }

  /// So that lists know it before it is opened.
  func describe(_ staging: String, _ summary: StoreSummary) throws(CairnError) {
    let info = InfoFile(
      view: CatalogueView(summary), ownDeltas: summary.ownDeltas,
      published: try InfoFile.read(staging, disk: machine.disk)?.published)
    do throws(LogError) {
      try DurableFile.replace(
        directory: staging, name: FileName.info, bytes: info.encoded(), machine: machine)
    } catch { throw CairnError(error) }
  }

  /// Limits are for what apps write: what they have written is moved as it is. Everything is
  /// durable when the store is closed.
  static var options: StoreOptions {
    var options = StoreOptions()
    options.durability = .periodic(milliseconds: .max)
    let most = Int.max / 2
    options.limits.recordBytes = most
    options.limits.records = most
    options.limits.datastoreBytes = most
    options.limits.deltaBytes = most
    options.compactsAutomatically = false
    return options
  }

  /// Puts a staged datastore into its place; fine if it is there already.
  ///
  /// - Throws: `alreadyOpen` if the one that is in its place is open, or what has become a part of
  ///   it.
  func install(_ item: MigrationJournal.Item) throws(CairnError) {
    let staging = root + "/" + FileName.staging(token, item.directory)
    if try isThere(staging) {
      let place = root + "/" + item.directory
      let lock = try isThere(place) ? try lock(place) : nil
      defer { lock?.unlock() }
      // Another process may have been faster while nobody had the place's lock.
      if try isThere(staging) {
        if try isThere(place) {
          try makeRoom(item.directory, lock)
        } else {
          try settleDisplaced()
        }
        do { try machine.disk.move(staging, to: place, syncing: root) } catch {
          throw CairnError(error)
        }
      }
    }
    if !item.source.isEmpty { try putAway(item.source) }
  }

  /// What was made a part of another one; fine if it has gone already.
  private func putAway(_ source: String) throws(CairnError) {
    guard try isThere(root + "/" + source) else { return }
    let lock = try lock(root + "/" + source)
    defer { lock.unlock() }
    // As above.
    guard try isThere(root + "/" + source) else { return }
    try trash.keep(source, releasing: lock)
  }

  /// What somebody wrote in a place after it was copied is not lost. What a crash left of one that
  /// was being created is nothing that anybody could have back from the trash.
  private func makeRoom(
    _ directory: String, _ lock: (any DiskLock)?
  ) throws(CairnError) {
    let isUnborn: Bool
    do throws(DiskError) {
      isUnborn = try LostCurrent.isUnborn(root + "/" + directory, disk: machine.disk)
    } catch { throw CairnError(error) }
    if isUnborn {
      try trash.destroy(directory, releasing: lock)
    } else {
      try displace(directory, releasing: lock)
    }
  }

  private func isThere(_ path: String) throws(CairnError) -> Bool {
    do { return try machine.disk.info(path) != nil } catch { throw CairnError(error) }
  }

  private func lock(_ place: String) throws(CairnError) -> any DiskLock {
    do { return try machine.disk.lock(place + "/" + FileName.lock) } catch {
      throw CairnError(error)
    }
  }

  /// Takes back what was staged, after something has failed: unless a journal that names it may be
  /// there, though its writing has failed in the end. Then the next use of the root completes it.
  func discardUnlessDecided() {
    let journal: MigrationJournal?
    do throws(CairnError) {
      journal = try MigrationJournal.read(root, disk: machine.disk)
    } catch {
      // It may be ours.
      return
    }
    if journal?.token == token { return }
    // What is left goes by itself after a week.
    do throws(CairnError) { try discard() } catch {}
  }

  /// Takes back what was staged.
  func discard() throws(CairnError) {
    do throws(DiskError) {
      guard try machine.disk.info(root) != nil else { return }
      if let time = try prepared() { trash.removeUnused(time) }
      for entry in try machine.disk.list(root)
      where FileName.stagingToken(entry.name) == token {
        try machine.disk.removeTree(root + "/" + entry.name)
      }
    } catch { throw CairnError(error) }
  }
}
