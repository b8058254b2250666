internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnStore
internal import Synchronization

/// From the folder to here.
extension BlobExchange {
  /// Fetches a content because somebody asks for it; who asks for one that is on its way waits for
  /// that.
  func fetch(_ reference: BlobReference) async throws(CairnError) {
    if !memory.withLock({ $0.isScanned }) { try scan() }
    if memory.withLock({ $0.known[reference] }) == .never {
      throw CairnError(
        .disallowed, "the policy of this device says that attachment \(AttachmentID(reference)) is "
          + "not fetched here", id: AttachmentID(reference).description)
    }
    try home.checkLimit(reference.length)
    try await flight(reference).value.get()
  }

  private func flight(
    _ reference: BlobReference
  ) -> Task<Result<Void, CairnError>, Never> {
    flights.withLock { flights in
      if let flight = flights[reference.hash] { return flight }
      let flight = Task { () -> Result<Void, CairnError> in
        defer { self.flights.withLock { $0[reference.hash] = nil } }
        do throws(CairnError) {
          try await self.fetchNow(reference)
          return .success(())
        } catch { return .failure(error) }
      }
      flights[reference.hash] = flight
      return flight
    }
  }

  private func fetchNow(_ reference: BlobReference) async throws(CairnError) {
    var problems: [String] = []
    var known = memory.withLock { $0.listing }
    for attempt in 0..<2 {
      // What was listed before may be old.
      if attempt > 0 || known == nil { known = try await list() }
      for copy in BlobExchange.copies(of: reference, in: known ?? [:])
      where copy.entry.isPresent {
        switch try await take(reference, copy) {
        case .whole: return
        case .short: problems.append("\(copy.entry.name) is not wholly there yet")
        case .damaged: problems.append("\(copy.entry.name) is damaged")
        }
      }
      if !problems.isEmpty { break }
    }
    let id = AttachmentID(reference).description
    if problems.isEmpty {
      throw CairnError(
        .notFound, "the folder does not have attachment \(id) (yet). Devices that have its content "
          + "put it back when they exchange; try again later", file: directory, id: id)
    }
    throw CairnError(
      .corrupt, "attachment \(id) can't be fetched: \(problems.joined(separator: "; ")). A device "
        + "that has it writes it again when its folder is repaired", file: directory, id: id)
  }

  /// Fetches one copy. What is here of an earlier try is gone on with, and if that makes a wrong
  /// whole, it is fetched from its beginning.
  private func take(
    _ reference: BlobReference, _ copy: Copy
  ) async throws(CairnError) -> BlobPart.Verdict {
    while true {
      try checkOpen()
      let part = try BlobPart(home, reference)
      let isResumed = part.count > 0
      let verdict = try await take(part, copy)
      if verdict == .damaged, isResumed { continue }
      memory.withLock { memory in
        switch verdict {
        case .damaged:
          let version = copy.entry.version
          var retry = memory.refused[copy.entry.name] ?? Retry(version: version)
          if retry.version != version { retry = Retry(version: version) }
          retry.fail()
          memory.refused[copy.entry.name] = retry
        case .whole: memory.refused[copy.entry.name] = nil
        case .short: break
        }
      }
      return verdict
    }
  }

  private func take(
    _ part: BlobPart, _ copy: Copy
  ) async throws(CairnError) -> BlobPart.Verdict {
    var failure: CairnError?
    let isThere: Bool
    do throws(CairnError) {
      isThere = try await folder.read(directory + "/" + copy.entry.name, from: part.count) {
        bytes throws(CairnError) in
        do throws(CairnError) {
          // Somebody else may have the datastore open by now, and fetch the same.
          try checkOpen()
          try part.append(bytes)
        } catch {
          failure = error
          // Not the folder's fault.
          throw CairnError(.cancelled, error.message)
        }
      }
    } catch {
      guard let failure else { throw error }
      guard failure.code == .corrupt else { throw failure }
      part.forget()
      return .damaged
    }
    try checkOpen()
    return isThere ? try part.finish() : .short
  }

  /// Whether the folder has a copy whose every byte is right, as it is now.
  func isSafelyInFolder(_ reference: BlobReference) async throws(CairnError) -> Bool {
    for copy in BlobExchange.copies(of: reference, in: try await list())
    where copy.entry.isPresent {
      var found = SHA256()
      let path = directory + "/" + copy.entry.name
      _ = try await folder.read(path, from: 0) { bytes throws(CairnError) in found.update(bytes) }
      if found.count == reference.length, found.digest() == reference.hash { return true }
    }
    return false
  }

  // MARK: by policy

  /// Fetches what the policy wants and the folder has, as far as one round goes. `here` are the
  /// contents that need not come.
  func fetchWanted(
    _ listing: [ContentHash: [Copy]], here: Set<ContentHash>, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let known = memory.withLock { $0.known }
    var wanted: [(reference: BlobReference, priority: Int)] = []
    for (reference, answer) in known where !here.contains(reference.hash) {
      if case .always(let priority) = answer, home.isAllowed(reference) {
        wanted.append((reference, priority))
      }
    }
    wanted.sort { a, b in
      (-a.priority, a.reference.length, a.reference.hash)
        < (-b.priority, b.reference.length, b.reference.hash)
    }
    var bytes: UInt64 = 0
    for (reference, _) in wanted {
      guard canBeHad(reference, listing) else {
        report.missingAttachments += 1
        continue
      }
      if bytes > 0, bytes + reference.length > tuning.blobRoundBytes { break }
      // An empty one counts, too.
      bytes += max(1, reference.length)
      switch await flight(reference).value {
      case .success:
        report.fetchedAttachments += 1
        report.fetchedAttachmentBytes += reference.length
      case .failure(let error):
        guard [.corrupt, .notFound].contains(error.code) else { throw error }
        report.problems.append(
          ExchangeReport.Problem(
            name: AttachmentID(reference).description, reason: error.message))
      }
    }
    // What did not come is asked for again.
    if report.fetchedAttachments < wanted.count { memory.withLock { $0.mustLook = true } }
  }

  /// Whether there is a copy that is worth a try in this round.
  private func canBeHad(_ reference: BlobReference, _ listing: [ContentHash: [Copy]]) -> Bool {
    BlobExchange.copies(of: reference, in: listing).contains { copy in
      guard copy.entry.isPresent else { return false }
      return memory.withLock { memory in
        guard let retry = memory.refused[copy.entry.name], retry.version == copy.entry.version
        else { return true }
        return memory.refused[copy.entry.name]?.isDue() ?? true
      }
    }
  }
}
