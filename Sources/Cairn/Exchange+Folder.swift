internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Telling whether the folder is the right one.
extension Exchange {
  /// The folder must be the one that everything was published in so far. An empty or different one
  /// never means that anything was deleted.
  func checkFolder(_ report: inout ExchangeReport) async throws(CairnError) {
    if let following { return try await checkFollowed(following, &report) }
    if memory.withLock({ $0.folderIdentity != nil }) { return }
    report.requests += 1
    let identity: UInt128
    let known = memory.withLock { $0.tiedIdentity }
    switch try await FolderIdentity.find(in: folder) {
    case .whole(let found): identity = found
    case .half(let bytes): identity = try await mendIdentity(bytes, known, &report)
    case .missing:
      guard known == nil else { throw absentFolderError }
      if let found = try await waitForIdentity(&report) {
        identity = found
        break
      }
      let new = memory.withLock { $0.identityAttempt.begin(machine.random) }
      identity = try await writeIdentity(new, &report)
    }
    if let known, known != identity, try await !hasOwnHead(&report) { throw strangeFolderError }
    memory.withLock { memory in
      memory.identityAttempt.forget()
      (memory.folderIdentity, memory.metIdentity) = (identity, identity)
    }
  }

  /// The same outside of rounds, for who goes by what the folder lacks: asked anew each time, and
  /// nothing is written there. A datastore that was never exchanged goes with any.
  func checkIsThere() async throws(CairnError) {
    var report = ExchangeReport()
    if let following {
      do throws(CairnError) { _ = try await followedIdentity(following, &report) } catch {
        guard [.notFound, .retryLater, .corrupt].contains(error.code),
          try await isThereAnyway(&report)
        else { throw error }
      }
      return
    }
    let known = memory.withLock { $0.tiedIdentity }
    // An earlier process may have fetched, and nothing was ever published.
    if known == nil, try !StoredLinkage.wasExchanged(store.directory, disk: machine.disk) { return }
    let found: FolderIdentity.Found
    do throws(CairnError) { found = try await FolderIdentity.find(in: folder) } catch {
      // Damaged: rounds that know the folder go on without it. Or elsewhere, as if it were missing;
      // a server that has no time now is not asked for more.
      let isElsewhere = error.code == .retryLater && folder.base is DirectoryFolder
      guard error.code == .corrupt || isElsewhere, try await isThereAnyway(&report) else {
        throw error
      }
      return
    }
    try checkOpen()
    switch found {
    case .missing:
      if try await !isThereAnyway(&report) { throw absentFolderError }
    case .half(let bytes):
      guard let known, !FolderIdentity.tells(bytes, of: known) else { return }
      if try await !hasOwnHead(&report) {
        try checkOpen()
        throw FolderIdentity.halfError(bytes)
      }
    case .whole(let identity):
      guard let known, known != identity else { return }
      if try await !hasOwnHead(&report) {
        try checkOpen()
        throw strangeFolderError
      }
    }
  }

  /// Whether the rest tells so, where cairn.json is lost, or still to arrive: rounds that know the
  /// folder go on without it, and others wait.
  private func isThereAnyway(_ report: inout ExchangeReport) async throws(CairnError) -> Bool {
    var isThere: Bool
    if following != nil {
      report.requests += 1
      let entries = try await folder.list(directory)
      isThere = hasMetHead(in: entries)
      if !isThere { isThere = try await hasKnownHead(entries, &report) }
    } else if memory.withLock({ $0.tiedIdentity != nil }) {
      isThere = try await hasOwnHead(&report)
    } else {
      isThere = try await FolderIdentity.isInUse(folder, [directory], &report.requests)
    }
    try checkOpen()
    return isThere
  }

  private var absentFolderError: CairnError {
    let name = FileName.folderIdentity
    return CairnError(
      .notFound,
      "the folder is empty, or not the one that \(datastoreID) was exchanged with: \(name) is "
        + "missing; nothing was changed. Wait until the folder is there, or begin with a new "
        + "root in this one", file: name, id: datastoreID)
  }

  private var strangeFolderError: CairnError {
    CairnError(
      .disallowed,
      "this is another shared folder than the one that \(datastoreID) was exchanged with; "
        + "nothing was changed. Choose the right folder, or begin with a new root in this one",
      file: FileName.folderIdentity, id: datastoreID)
  }

  /// Whether what is listed leaves it open that it is another folder's by now. A device that has no
  /// head there yet has nothing that it would miss; another one may miss somebody else's. Asked
  /// once of each listing, but for an empty one, which says nothing, now and then.
  func mayBeAnother(_ sorted: FolderListing) -> Bool {
    memory.withLock { memory -> Bool in
      let isNew = memory.doubted !== sorted
      memory.doubted = sorted
      if memory.own.generation == 0 {
        if isNew {
          memory.emptyLooks = Retry(version: "")
          return true
        }
        // Ever more seldom: a datastore without content stays like that.
        guard sorted.entries.isEmpty, memory.emptyLooks.isDue() else { return false }
        memory.emptyLooks.fail(most: 8)
        return true
      }
      return isNew && memory.heads.keys.contains {
        sorted.byName[FileName.head(device: $0.rawValue)] == nil
      }
    }
  }

  /// Where devices have exchanged there is a cairn.json, even if it can't be read just now, or is
  /// still to arrive. One that has gone for good is written anew after some rounds and some time.
  /// Returns what one says that has come meanwhile.
  private func waitForIdentity(
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> UInt128? {
    let places = [directory, FileName.catalogue]
    guard try await FolderIdentity.isInUse(folder, places, &report.requests) else { return nil }
    report.requests += 1
    if case .whole(let identity) = try await FolderIdentity.find(in: folder) { return identity }
    let now = machine.clock.now()
    if memory.withLock({ $0.identityAttempt.isGivenUp(at: now) }) { return nil }
    throw FolderIdentity.missingError(id: datastoreID)
  }

  /// The file was half written, or the rest of it is still to come. Who knows what it said, and
  /// sees that it is the right folder, writes it again; nobody else does while somebody might.
  private func mendIdentity(
    _ bytes: [UInt8], _ known: UInt128?, _ report: inout ExchangeReport
  ) async throws(CairnError) -> UInt128 {
    if let known {
      if FolderIdentity.tells(bytes, of: known) { return try await writeIdentity(known, &report) }
      if try await hasOwnHead(&report) { return try await writeIdentity(known, &report) }
      throw FolderIdentity.halfError(bytes)
    }
    if let own = memory.withLock({ $0.identityAttempt.own(bytes) }) {
      return try await writeIdentity(own, &report)
    }
    guard memory.withLock({ $0.identityAttempt.isAbandoned(bytes) }) else {
      throw FolderIdentity.halfError(bytes)
    }
    report.requests += 1
    if try await folder.list(directory).contains(where: { FileName.headDevice($0.name) != nil }) {
      throw FolderIdentity.halfError(bytes)
    }
    let new = memory.withLock { $0.identityAttempt.begin(machine.random) }
    return try await writeIdentity(new, &report)
  }

  private func writeIdentity(
    _ identity: UInt128, _ report: inout ExchangeReport
  ) async throws(CairnError) -> UInt128 {
    guard memory.withLock({ $0.mayFound }) else {
      throw CairnError(
        .notFound,
        "\(FileName.folderIdentity) is missing in the shared folder, or not whole: nobody has "
          + "exchanged there yet, or it is not there just now. A dry run does not write it; "
          + "nothing was changed", file: FileName.folderIdentity, id: datastoreID)
    }
    report.requests += 1
    try await FolderIdentity.write(identity, to: folder)
    return identity
  }

  /// Two devices may have made the folder at once, and one of the two files has won since: a folder
  /// that has our own head is ours all the same.
  private func hasOwnHead(_ report: inout ExchangeReport) async throws(CairnError) -> Bool {
    let name = directory + "/" + FileName.head(device: store.device.rawValue)
    let (publication, own) = memory.withLock { ($0.publication, $0.own) }
    guard let publication else { return try await hasMetHead(&report) }
    report.requests += 1
    guard let bytes = try await folder.read(name, limit: Head.bytesMax) else {
      return try await hasOtherFiles(&report)
    }
    do throws(LogError) {
      let head = try Head(bytes, name: name, datastore: store.datastore)
      if head.nonce == publication.confirmedNonce || head.nonce == publication.pendingNonce {
        return true
      }
      // Of two copies of this datastore the other one has gone on from what is known here. A folder
      // that was left for this one has less than was published since.
      return head.generation >= own.generation && head.last >= own.last
    } catch {
      // Damaged or half there: nobody else has a file of that name. It is written again.
      if error.reason != .foreign { return true }
      throw CairnError(error)
    }
  }

  /// Who has not published yet knows a folder by those whom it has met there.
  private func hasMetHead(_ report: inout ExchangeReport) async throws(CairnError) -> Bool {
    report.requests += 1
    return hasMetHead(in: try await folder.list(directory))
  }

  private func hasMetHead(in entries: [FolderEntry]) -> Bool {
    let met = memory.withLock { memory in Set(memory.heads.keys.map(\.rawValue)) }
    return entries.contains { entry in
      FileName.headDevice(entry.name).map { met.contains($0) } ?? false
    }
  }

  /// A head that never arrived, or is lost, is not the only trace: there are its files, the head of
  /// the name that it had before, and those of devices from which it has something. A folder that
  /// was left for this one has less of these.
  private func hasOtherFiles(_ report: inout ExchangeReport) async throws(CairnError) -> Bool {
    report.requests += 1
    let entries = try await folder.list(directory)
    if entries.contains(where: { FileName.isOf(device: store.device.rawValue, $0.name) }) {
      return true
    }
    if try await hasEarlierHead(&report) { return true }
    return try await hasKnownHead(entries, &report)
  }

  /// Who has left its name, and has published nothing under the next one, has published under that.
  private func hasEarlierHead(_ report: inout ExchangeReport) async throws(CairnError) -> Bool {
    for earlier in store.cuts.earlierNames(of: store.device) {
      report.requests += 1
      let name = FileName.head(device: earlier.name.rawValue)
      guard let bytes = try await folder.read(directory + "/" + name, limit: Head.bytesMax) else {
        continue
      }
      do throws(LogError) {
        let head = try Head(bytes, name: name, datastore: store.datastore)
        if head.last >= earlier.common { return true }
      } catch {
        // It says nothing.
      }
    }
    return false
  }

  /// A folder that has gone on from what is known here of somebody is the same.
  func hasKnownHead(
    _ entries: [FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    let vector = store.vector
    for entry in entries {
      guard let number = FileName.headDevice(entry.name) else { continue }
      let device = DeviceID(rawValue: number)
      guard vector[device] > 0 else { continue }
      report.requests += 1
      let path = directory + "/" + entry.name
      guard let bytes = try await folder.read(path, limit: Head.bytesMax) else { continue }
      do throws(LogError) {
        let head = try Head(bytes, name: entry.name, datastore: store.datastore)
        if head.device == device, head.last >= vector[device] { return true }
      } catch {
        // It says nothing; another one may.
      }
    }
    return false
  }
}

extension Exchange.Memory {
  /// The folder that this device has published in; or, as long as it has not, the one in which this
  /// process has met others.
  fileprivate var tiedIdentity: UInt128? {
    publication?.folder ?? (heads.isEmpty ? nil : metIdentity)
  }
}
