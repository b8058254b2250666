internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// What this installation has left in the folder of datastores that are deleted.
extension CatalogueExchange {
  /// Removes the files of devices that this installation was in datastores that are deleted. A
  /// directory counts as done when it was listed and nothing own was found: a round of an exchange
  /// that was under way may have added something.
  ///
  /// Only own files: those of installations that are gone stay. Nobody can tell when a datastore
  /// was deleted, and contents of attachments that only they have there may be all that is left of
  /// some in a copy that somebody has taken out of the trash again (`FileName.olderGenerations`).
  ///
  /// Where nothing may be removed the files stay: they are in nobody's way, and tried ever more
  /// seldom.
  ///
  /// - Parameter onlyTold: The own file could not be written. A delete that nobody else tells of
  ///   goes out first: without it, to all others the folder would only have lost something.
  func removeDeadFiles(
    _ installation: Installation, onlyTold: Bool, _ report: inout CatalogueReport
  ) async throws(CairnError) {
    let file = try installation.read()
    let now = machine.clock.now()
    for own in file.devices where own.generation < file.entry(own.id).generation {
      if onlyTold, !file.isToldByOthers(own) { continue }
      let since = file.waiting[own]
      if let since, since > now {
        // By a clock that has been put back since.
        try installation.update { $0.waiting[own] = now }
        continue
      }
      if let since, now.elapsed(since: since) < Trash.keepMilliseconds { continue }
      guard memory.withLock({ $0.removals[own]?.isDue() ?? true }) else { continue }
      let isRefused: Bool
      do throws(CairnError) {
        isRefused = try await !removeFiles(of: own, since, now, installation, &report)
      } catch {
        // The next hour has room for it.
        if error.code == .quota { return }
        guard CatalogueExchange.isRefusal(error) else { throw error }
        let directory = FileName.directory(datastore: own.id, generation: own.generation)
        note(error, directory, &report)
        isRefused = true
      }
      memory.withLock { memory in
        if isRefused {
          memory.removals[own, default: Retry(version: "")].fail()
        } else {
          memory.removals[own] = nil
        }
      }
    }
  }

  /// Those of one device. False if the folder refuses any of it, or has its head elsewhere.
  private func removeFiles(
    of own: InstallationFile.OwnDevice, _ since: Int64?, _ now: Int64,
    _ installation: Installation, _ report: inout CatalogueReport
  ) async throws(CairnError) -> Bool {
    let directory = FileName.directory(datastore: own.id, generation: own.generation)
    report.requests += 1
    let entries = try await folder.list(directory)
    let head = FileName.head(device: own.device)
    if let entry = entries.first(where: { $0.name == head }), !entry.isPresent {
      // Read, it would be as none: the device would be done with, and it and the snapshots that it
      // names would be nobody's.
      report.waiting.append(
        ExchangeReport.Waiting(
          name: directory + "/" + head, bytes: entry.size,
          reason: "its content is not here yet; until it is, nothing of this device is removed of "
            + "the deleted datastore"))
      return false
    }
    var names = entries.map(\.name).filter { FileName.published($0)?.device == own.device }
    names += try await snapshots(directory + "/" + head, &report)
    report.requests += 1
    let hasHead = try await folder.read(directory + "/" + head, limit: Head.bytesMax) != nil
    guard try await remove(names.map { directory + "/" + $0 }, &report) else { return false }
    // Last: it says what is to be removed.
    if hasHead, try await !remove([directory + "/" + head], &report) { return false }
    let hadNone = names.isEmpty && !hasHead
    let blobs = try await deadBlobs(of: own, directory, &report)
    if since == nil, !blobs.isEmpty {
      // They wait for as long as copies stay in the trash of others, who may lack some contents.
      if hadNone { try installation.update { $0.waiting[own] = now } }
      return true
    }
    guard try await remove(blobs, &report) else { return false }
    guard hadNone, blobs.isEmpty else { return true }
    try installation.update { file in
      file.devices.remove(own)
      file.waiting[own] = nil
    }
    return true
  }

  /// Removes what the folder lets go; false if it refuses any. A folder that refuses two is not
  /// asked for the rest.
  private func remove(
    _ paths: [String], _ report: inout CatalogueReport
  ) async throws(CairnError) -> Bool {
    var refusals = 0
    let refused = memory.withLock { $0.refusedRemoval }
    // Behind the one that was refused last: two that never go keep no other one.
    let next = paths.firstIndex { $0 == refused }.map { $0 + 1 } ?? 0
    for path in paths[next...] + paths[..<next] where refusals < 2 {
      report.requests += 1
      do throws(CairnError) {
        try await folder.remove(path)
        report.removedFiles += 1
      } catch {
        guard CatalogueExchange.isRefusal(error) else { throw error }
        refusals += 1
        memory.withLock { $0.refusedRemoval = path }
        note(error, path, &report)
      }
    }
    return refusals == 0
  }

  private func note(_ error: CairnError, _ path: String, _ report: inout CatalogueReport) {
    report.problems.append(
      ExchangeReport.Problem(name: path, reason: "it can't be removed: \(error.message)"))
  }

  /// That something may not be removed, or not now, and not that there is no connection.
  private static func isRefusal(_ error: CairnError) -> Bool {
    [.auth, .server, .request, .readOnly, .fileIO, .retryLater].contains(error.code)
  }

  /// Paths of the contents of its attachments.
  private func deadBlobs(
    of own: InstallationFile.OwnDevice, _ directory: String, _ report: inout CatalogueReport
  ) async throws(CairnError) -> [String] {
    let directory = FileName.blobDirectory(directory)
    report.requests += 1
    return try await folder.list(directory).map(\.name).filter {
      FileName.publishedBlob($0)?.device == own.device
    }.map { directory + "/" + $0 }
  }

  private func snapshots(
    _ path: String, _ report: inout CatalogueReport
  ) async throws(CairnError) -> [String] {
    report.requests += 1
    guard let bytes = try await folder.read(path, limit: Head.bytesMax),
      // A damaged one says nothing of snapshots; it goes all the same.
      let head = try? Head(bytes, name: path, datastore: nil)
    else { return [] }
    let names = head.superseded.map(\.name) + [head.snapshot?.name].compactMap(\.self)
    return names.filter { FileName.sharedSnapshot($0) != nil }
  }
}

extension InstallationFile {
  /// Whether another installation's file says that the datastore of this device is deleted.
  fileprivate func isToldByOthers(_ own: OwnDevice) -> Bool {
    others.values.contains { other in
      (other.file.entries[own.id]?.generation ?? 0) > own.generation
    }
  }
}
