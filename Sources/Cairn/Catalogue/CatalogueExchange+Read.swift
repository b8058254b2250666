internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import Synchronization

/// Reading the files of the catalogue, and telling what can be believed.
extension CatalogueExchange {
  // MARK: the folder

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
      return try await folder.list(directory).contains {
        FileName.isOf(device: known.device.rawValue, $0.name)
      }
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

  /// Damaged or half there: nobody else has a file of that name. It is written again.
  private func acceptUnreadable(_ error: LogError) throws(CairnError) {
    switch error.reason {
    case .truncated, .corrupt: return
    default: throw CairnError(error)
    }
  }

  private func isOurs(_ found: CatalogueFile, _ file: InstallationFile) -> Bool {
    found.installation == file.installation
      && (found.nonce == file.own.nonce || found.nonce == file.confirmedNonce)
  }

  // MARK: the own file

  /// The own file must be what we wrote. One that somebody else wrote under our name was written by
  /// a copy of this installation (a cloned or restored root): from now on it is that one's, and we
  /// take another name.
  ///
  /// - Returns: Whether anything may be published: not over a file that nobody has seen yet.
  func checkOwn(
    _ manager: DatastoreManager, _ entries: [FolderEntry], _ report: inout CatalogueReport
  ) async throws(CairnError) -> Bool {
    let installation = manager.installation
    let file = try installation.read()
    guard file.installation != 0 else { return true }
    let name = FileName.catalogue(installation: file.installation)
    guard let entry = entries.first(where: { $0.name == name }) else {
      memory.withLock { $0.own = nil }
      guard file.own.revision > 0 else { return true }
      // Before it is written again: is this still the folder that it was written to?
      memory.withLock { $0.folderIdentity = nil }
      try await checkFolder(manager, &report)
      try installation.update { $0.isPublished = false }
      return true
    }
    if let own = memory.withLock({ $0.own }), own.version == entry.version {
      // Another process may have tried to write the next one.
      if own.nonce != file.own.nonce { try installation.update { $0.isPublished = false } }
      return true
    }
    memory.withLock { $0.own = nil }
    report.requests += 1
    let path = FileName.catalogue + "/" + name
    let bytes: [UInt8]
    do throws(CairnError) {
      let read = try await folder.read(path, limit: CatalogueFile.bytesMax)
      memory.withLock { $0.ownRefusals = 0 }
      guard let read else { return true }
      bytes = read
    } catch { return try await noteOwnUnread(name, error, installation, &report) }
    let found: CatalogueFile
    do { found = try CatalogueFile(bytes, name: name) } catch {
      if case .needsNewerVersion = error.reason { throw CairnError(error) }
      // Damaged on its way or half replaced; ours to write again, from what we know.
      report.problems.append(
        ExchangeReport.Problem(name: name, reason: "\(error); it will be written again"))
      try installation.update { $0.isPublished = false }
      return true
    }
    if isOurs(found, file) {
      memory.withLock { $0.own = OwnFile(version: entry.version, nonce: found.nonce) }
      if found.nonce != file.own.nonce { try installation.update { $0.isPublished = false } }
      return true
    }
    try installation.update { file in
      let known = file.merged
      let deletes = found.entries.contains { id, entry in
        entry.generation > known[id]?.generation ?? 0
      }
      // Else it is read below like anybody's: what it deletes may have to wait for consent.
      if !deletes {
        file.others[file.installation] = InstallationFile.Other(version: entry.version, file: found)
      }
      file.installation = 0
      file.confirmedNonce = 0
      (file.own.revision, file.own.nonce) = (0, 0)
      file.isPublished = false
    }
    return true
  }

  /// The folder does not give the own file. As with the head of a datastore's device nothing is
  /// published for some rounds, since a copy of this root may have written it; and then it is
  /// written again.
  private func noteOwnUnread(
    _ name: String, _ error: CairnError, _ installation: Installation,
    _ report: inout CatalogueReport
  ) async throws(CairnError) -> Bool {
    let isOfFile = [.fileIO, .notFound, .corrupt, .readOnly, .sizeLimit].contains(error.code)
    guard isOfFile || Exchange.mayBeOfOne(error) else { throw error }
    // A server that is out of order, or busy, does not list it either.
    report.requests += 1
    _ = try await folder.list(FileName.catalogue)
    let refusals = memory.withLock { memory in
      memory.ownRefusals += 1
      return memory.ownRefusals
    }
    let mustWrite = refusals >= Exchange.patience
    let what = mustWrite ? "it will be written again" : "until it is given nothing is published"
    report.problems.append(
      ExchangeReport.Problem(name: name, reason: "\(error.message); \(what)"))
    if mustWrite { try installation.update { $0.isPublished = false } }
    return mustWrite
  }

  // MARK: the others'

  /// Reads the files that have changed.
  func readOthers(
    _ known: InstallationFile, _ entries: [FolderEntry], _ identity: UInt128?,
    _ report: inout CatalogueReport
  ) async throws(CairnError) -> [UInt64: InstallationFile.Other] {
    var result: [UInt64: InstallationFile.Other] = [:]
    for entry in entries where !entry.isElsewhere {
      let number = FileName.catalogueInstallation(entry.name)
      if let number {
        if number == known.installation || known.others[number]?.version == entry.version {
          continue
        }
      } else if FileName.isTemporary(entry.name) {
        continue
      }
      if let number, let held = memory.withLock({ $0.held[number] }),
        held.version == entry.version
      {
        result[number] = held
        continue
      }
      if let verdict = verdict(on: entry) {
        report.add(verdict)
        continue
      }
      guard let bytes = try await bytes(of: entry, &report) else { continue }
      do throws(LogError) {
        let file = try check(bytes, entry, number, known, identity)
        forgive(entry.name)
        report.fetchedFiles += 1
        result[file.installation] = InstallationFile.Other(version: entry.version, file: file)
      } catch { judge(error, entry, number, bytes, &report) }
    }
    return result
  }

  private func bytes(
    of entry: FolderEntry, _ report: inout CatalogueReport
  ) async throws(CairnError) -> [UInt8]? {
    guard entry.isPresent, entry.size > 0, entry.size <= UInt64(CatalogueFile.bytesMax) else {
      report.waiting.append(
        ExchangeReport.Waiting(
          name: entry.name, bytes: entry.size, reason: "its content is not here yet"))
      return nil
    }
    report.requests += 1
    let path = FileName.catalogue + "/" + entry.name
    do throws(CairnError) {
      if let bytes = try await folder.read(path, limit: CatalogueFile.bytesMax) { return bytes }
      report.waiting.append(
        ExchangeReport.Waiting(
          name: entry.name, bytes: entry.size, reason: "it was listed, but is not there"))
      return nil
    } catch {
      let problem = ExchangeReport.Problem(name: entry.name, reason: error.message)
      switch error.code {
      case .fileIO, .notFound, .corrupt, .readOnly, .sizeLimit: break
      case _ where Exchange.mayBeOfOne(error):
        // A server that is out of order, or busy, is not asked for all of them.
        report.requests += 1
        _ = try await folder.list(FileName.catalogue)
        refuse(entry, .problem(problem))
      default: throw error
      }
      report.problems.append(problem)
      return nil
    }
  }

  private func check(
    _ bytes: [UInt8], _ entry: FolderEntry, _ number: UInt64?, _ known: InstallationFile,
    _ identity: UInt128?
  ) throws(LogError) -> CatalogueFile {
    let file = try CatalogueFile(bytes, name: entry.name)
    guard let number, file.installation == number else {
      let newest =
        file.installation == known.installation
        ? known.own : known.others[file.installation]?.file
      // A copy of what is known is no news.
      if let newest, newest.revision >= file.revision {
        throw LogError(.missing, entry.name, "a copy")
      }
      throw LogError(.foreign, entry.name, at: 32, "it belongs under another name")
    }
    if let identity, file.folder != identity {
      // Or else ours is the wrong one: looked at before the next round.
      memory.withLock { $0.folderIdentity = nil }
      throw LogError(.foreign, entry.name, at: 16, "it was written for another shared folder")
    }
    return file
  }

  /// Half a file is waited for, a newer version's is left alone; a damaged or foreign one is kept
  /// aside and reported. What its installation said before still holds.
  private func judge(
    _ error: LogError, _ entry: FolderEntry, _ number: UInt64?, _ bytes: [UInt8],
    _ report: inout CatalogueReport
  ) {
    var verdict: Verdict
    switch error.reason {
    case .missing: verdict = .ignored
    case .truncated, .disk, .needsNewerVersion:
      verdict = .waiting(
        ExchangeReport.Waiting(name: entry.name, bytes: entry.size, reason: error.detail))
    case .corrupt, .foreign, .limit, .poisoned:
      let reason =
        error.description + "; a copy is kept in quarantine, and the file is read again later, "
        + "and when it changes"
      verdict = .problem(ExchangeReport.Problem(name: entry.name, reason: reason))
      if number == nil, Array(bytes.prefix(8)) != CatalogueFile.magic {
        // What sync engines and desktops leave lying about.
        verdict = .ignored
      } else {
        quarantine.keep(entry.name, bytes, reason: error.description)
      }
    }
    refuse(entry, verdict)
    report.add(verdict)
  }
}

extension CatalogueReport {
  fileprivate mutating func add(_ verdict: CatalogueExchange.Verdict) {
    switch verdict {
    case .waiting(let file): waiting.append(file)
    case .problem(let file): problems.append(file)
    case .ignored: break
    }
  }
}
