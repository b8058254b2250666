internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import Synchronization

/// Whether the folder is the one that everything here was exchanged with.
extension CatalogueExchange {
  /// The folder must be the one that everything was published in so far. An empty or different one
  /// never means that anything was deleted.
  func checkFolder(
    _ manager: DatastoreManager, _ report: inout CatalogueReport
  ) async throws(CairnError) {
    if memory.withLock({ $0.folderIdentity != nil }) { return }
    let name = FileName.folderIdentity
    let file = try manager.installation.read()
    // The list may be new to a root whose datastores know their folder.
    let isBound = file.folder != 0 && !file.saysNothing
    let published = isBound ? [] : try publications(manager)
    report.requests += 1
    let identity: UInt128
    switch try await FolderIdentity.find(in: folder) {
    case .whole(let found): identity = found
    case .half(let bytes):
      identity = try await mendIdentity(bytes, file, manager, published, &report)
    case .missing:
      guard file.folder == 0, published.isEmpty else {
        throw CairnError(
          .notFound,
          "the folder is empty, or not the one that the datastores in \(root) were exchanged "
            + "with: \(name) is missing; nothing was changed. Wait until the folder is there, or "
            + "link the account anew", file: name)
      }
      if let found = try await waitForIdentity(manager, &report) {
        identity = found
        break
      }
      let new = memory.withLock { $0.identityAttempt.begin(machine.random) }
      identity = try await writeIdentity(new, &report)
    }
    if isBound, file.folder != identity { try await accept(file, manager, &report) }
    for (directory, publication) in published where publication.folder != identity {
      try await accept(publication, directory, &report)
    }
    memory.withLock { $0.folderIdentity = identity }
  }

  /// Two devices may have made the folder at once. The one whose cairn.json has won takes the file
  /// of the other one for another folder's, and as long as it has nothing to say itself, nothing
  /// tells the other one. So cairn.json is looked at once more: ever more seldom by one that is
  /// alone there, and still more so by one that is not: most often all have the same identity.
  func checkFounding(
    _ manager: DatastoreManager, _ entries: [FolderEntry], _ report: inout CatalogueReport
  ) async throws(CairnError) {
    let own = try manager.installation.read().installation
    let isAlone = !entries.contains { entry in
      FileName.catalogueInstallation(entry.name).map { $0 != own } ?? false
    }
    let known = memory.withLock { memory -> UInt128? in
      memory.roundsInFolder += 1
      let rounds = memory.roundsInFolder
      let isDue = isAlone ? rounds % 8 == 0 || [1, 2, 4].contains(rounds) : rounds % 64 == 0
      return isDue ? memory.folderIdentity : nil
    }
    guard let known else { return }
    report.requests += 1
    do throws(CairnError) {
      guard case .whole(let identity) = try await FolderIdentity.find(in: folder),
        identity != known
      else { return }
      memory.withLock { $0.folderIdentity = nil }
      try await checkFolder(manager, &report)
    } catch {
      if error.code == .disallowed || error.code == .needsNewerVersion { throw error }
      // What can't be told just now says nothing: the folder is what it was.
      memory.withLock { $0.folderIdentity = known }
    }
  }

  /// As a datastore's own exchange does it. Of the datastores in the folder nobody knows before the
  /// list is read; those that are here may be there.
  private func waitForIdentity(
    _ manager: DatastoreManager, _ report: inout CatalogueReport
  ) async throws(CairnError) -> UInt128? {
    let places = try [FileName.catalogue] + manager.copies().prefix(8).map(\.directory)
    guard try await FolderIdentity.isInUse(folder, places, &report.requests) else { return nil }
    report.requests += 1
    if case .whole(let identity) = try await FolderIdentity.find(in: folder) { return identity }
    let now = machine.clock.now()
    if memory.withLock({ $0.identityAttempt.isGivenUp(at: now) }) { return nil }
    throw FolderIdentity.missingError()
  }

  /// As a datastore's own exchange does it.
  private func mendIdentity(
    _ bytes: [UInt8], _ file: InstallationFile, _ manager: DatastoreManager,
    _ published: [(directory: String, publication: PublicationFile)],
    _ report: inout CatalogueReport
  ) async throws(CairnError) -> UInt128 {
    let known = file.folder != 0 ? file.folder : published.first?.publication.folder
    if let known {
      if FolderIdentity.tells(bytes, of: known) { return try await writeIdentity(known, &report) }
      do throws(CairnError) {
        if file.folder != 0 {
          try await accept(file, manager, &report)
        } else if let first = published.first {
          try await accept(first.publication, first.directory, &report)
        }
      } catch {
        // Nothing else of it may be there yet.
        throw error.code == .disallowed ? FolderIdentity.halfError(bytes) : error
      }
      return try await writeIdentity(known, &report)
    }
    if let own = memory.withLock({ $0.identityAttempt.own(bytes) }) {
      return try await writeIdentity(own, &report)
    }
    guard memory.withLock({ $0.identityAttempt.isAbandoned(bytes) }) else {
      throw FolderIdentity.halfError(bytes)
    }
    report.requests += 1
    if try await !folder.list(FileName.catalogue).isEmpty { throw FolderIdentity.halfError(bytes) }
    let new = memory.withLock { $0.identityAttempt.begin(machine.random) }
    return try await writeIdentity(new, &report)
  }

  private func writeIdentity(
    _ identity: UInt128, _ report: inout CatalogueReport
  ) async throws(CairnError) -> UInt128 {
    report.requests += 1
    try await FolderIdentity.write(identity, to: folder)
    return identity
  }

  /// Two devices may have made the folder at once, and one of the two files has won since: a folder
  /// that has our own file is ours all the same. So is one in which that never arrived, if it has
  /// another one that we know, or what a datastore published.
  private func accept(
    _ file: InstallationFile, _ manager: DatastoreManager, _ report: inout CatalogueReport
  ) async throws(CairnError) {
    let name = FileName.catalogue + "/" + FileName.catalogue(installation: file.installation)
    report.requests += 1
    if let bytes = try await folder.read(name, limit: CatalogueFile.bytesMax) {
      do throws(LogError) {
        let found = try CatalogueFile(bytes, name: name)
        if isOurs(found, file) { return }
        // Of two copies of this root the other one has gone on from what is known here. A folder
        // that was left for this one has less than was said since.
        if found.installation == file.installation, found.revision >= file.own.revision { return }
      } catch { return try acceptUnreadable(error) }
    } else {
      if try await hasKnownFile(file, &report) { return }
      for (directory, publication) in try publications(manager) {
        if try await hasHead(publication, directory, &report) { return }
      }
    }
    throw otherFolderError
  }

  /// What another installation said, or has said since.
  private func hasKnownFile(
    _ file: InstallationFile, _ report: inout CatalogueReport
  ) async throws(CairnError) -> Bool {
    for (number, other) in file.others.sorted(by: { $0.key < $1.key }) {
      let name = FileName.catalogue(installation: number)
      report.requests += 1
      let path = FileName.catalogue + "/" + name
      guard let bytes = try await folder.read(path, limit: CatalogueFile.bytesMax) else { continue }
      do throws(LogError) {
        let found = try CatalogueFile(bytes, name: name)
        if found.installation == number, found.revision >= other.file.revision { return true }
      } catch {
        // It says nothing; another one may.
      }
    }
    return false
  }

  private var otherFolderError: CairnError {
    CairnError(
      .disallowed,
      "this is another shared folder than the one that the datastores in \(root) were exchanged "
        + "with; nothing was changed. Choose the right folder, or link the account anew",
      file: FileName.folderIdentity)
  }

  /// What the copies here know of the folder that they were published in.
  private func publications(
    _ manager: DatastoreManager
  ) throws(CairnError) -> [(directory: String, publication: PublicationFile)] {
    var result: [(directory: String, publication: PublicationFile)] = []
    for copy in try manager.copies() {
      let path = root + "/" + copy.directory + "/" + FileName.publication
      do throws(LogError) {
        let limit = Head.bytesMax * 2
        guard let bytes = try DurableFile.read(path, limit: limit, disk: machine.disk) else {
          continue
        }
        let publication = try PublicationFile(bytes, path: path)
        if publication.folder != 0 { result.append((copy.directory, publication)) }
      } catch { throw CairnError(error) }
    }
    return result
  }

  /// The same by a copy's head, as the datastore's own exchange does it.
  private func accept(
    _ publication: PublicationFile, _ directory: String, _ report: inout CatalogueReport
  ) async throws(CairnError) {
    if try await !hasHead(publication, directory, &report) { throw otherFolderError }
  }

  private func hasHead(
    _ publication: PublicationFile, _ directory: String, _ report: inout CatalogueReport
  ) async throws(CairnError) -> Bool {
    // One that can't be read proves nothing.
    guard let known = try? Head(publication.head, name: directory, datastore: nil) else {
      return false
    }
    let name = directory + "/" + FileName.head(device: known.device.rawValue)
    report.requests += 1
    guard let bytes = try await folder.read(name, limit: Head.bytesMax) else {
      // What it names went up before it.
      report.requests += 1
      let entries = try await folder.list(directory)
      if entries.contains(where: { FileName.isOf(device: known.device.rawValue, $0.name) }) {
        return true
      }
      // Who has just taken this name has nothing there yet.
      guard known.generation == 0 else { return false }
      return try await hasMetHead(entries, directory, known.datastore, &report)
    }
    do throws(LogError) {
      let head = try Head(bytes, name: name, datastore: known.datastore)
      if head.nonce == publication.confirmedNonce || head.nonce == publication.pendingNonce {
        return true
      }
      // The datastore's exchange has published since its file was read, or a copy of it has. A
      // folder that was left for this one has less than that.
      return head.generation >= known.generation && head.last >= known.last
    } catch {
      try acceptUnreadable(error)
      return true
    }
  }

  /// A folder that has gone on from what is known here of somebody, or of the name that a copy had
  /// before, is the same. The store need not be open: what it was put together from is in CHAINS.
  private func hasMetHead(
    _ entries: [FolderEntry], _ directory: String, _ datastore: UInt128,
    _ report: inout CatalogueReport
  ) async throws(CairnError) -> Bool {
    let marks = Exchange.readHistories(root + "/" + directory, machine).marks
    for entry in entries {
      guard let number = FileName.headDevice(entry.name) else { continue }
      let device = DeviceID(rawValue: number)
      guard let last = marks[device]?.last else { continue }
      report.requests += 1
      let path = directory + "/" + entry.name
      guard let bytes = try await folder.read(path, limit: Head.bytesMax) else { continue }
      do throws(LogError) {
        let head = try Head(bytes, name: entry.name, datastore: datastore)
        if head.device == device, head.last >= last.sequence { return true }
      } catch {
        // It says nothing; another one may.
      }
    }
    return false
  }

  /// Damaged or half there: nobody else has a file of that name. It is written again.
  private func acceptUnreadable(_ error: LogError) throws(CairnError) {
    switch error.reason {
    case .truncated, .corrupt: return
    default: throw CairnError(error)
    }
  }
}
