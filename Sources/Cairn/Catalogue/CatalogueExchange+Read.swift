internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import Synchronization

/// Reading the files of the catalogue, and telling what can be believed.
extension CatalogueExchange {
  // MARK: the own file

  func isOurs(_ found: CatalogueFile, _ file: InstallationFile) -> Bool {
    found.installation == file.installation
      && (found.nonce == file.own.nonce || found.nonce == file.confirmedNonce)
  }

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
    guard entry.isPresent else {
      // A copy of this root may have written it, and a second one beside it is no use to anybody.
      report.waiting.append(
        ExchangeReport.Waiting(
          name: name, bytes: entry.size,
          reason: "its content is not here yet; until it is, nothing is published"))
      return false
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
      } else if FileName.isTemporary(entry.name) || entry.isOfEngine {
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
