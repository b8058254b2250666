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
    let content = reference.content
    if memory.withLock({ $0.known[content] }) == .never {
      throw CairnError(
        .disallowed, "the policy of this device says that attachment \(AttachmentID(reference)) is "
          + "not fetched here", id: AttachmentID(reference).description)
    }
    try home.checkLimit(content.length)
    let job = TransferJob(transfers.gauge)
    job.begin()
    defer { job.end() }
    try await fly(content, in: job, isListed: false).get()
  }

  /// Fetches a content once for all who ask for it meanwhile. Who is cancelled waits no more; when
  /// nobody does any more it ends, and the last one waits for that. The job of who has asked first
  /// counts it. `isListed`: the folder was listed just now.
  private func fly(
    _ reference: BlobReference, in job: TransferJob, isListed: Bool
  ) async -> Result<Void, CairnError> {
    while true {
      if let result = await wait(reference, job, isListed) { return result }
    }
  }

  private func wait(
    _ reference: BlobReference, _ job: TransferJob, _ isListed: Bool
  ) async -> Result<Void, CairnError>? {
    let own = lastWaiter.withLock { number in
      number += 1
      return number
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: Flight.Waiter) in
        board(waiter, own, reference, job, isListed)
        // Whoever cancels after that finds the one who waits.
        if Task.isCancelled { leave(own, reference) }
      }
    } onCancel: {
      leave(own, reference)
    }
  }

  private func board(
    _ waiter: Flight.Waiter, _ own: UInt64, _ reference: BlobReference, _ job: TransferJob,
    _ isListed: Bool
  ) {
    flights.withLock { flights in
      // One with another length, of which at most one is right, uses the same file.
      let others = flights.filter { $0.key != reference && $0.key.hash == reference.hash }
      var flight =
        flights[reference]
        ?? Flight(task: start(reference, job, isListed, after: others.map(\.value.task)))
      if flight.last == nil { flight.waiters[own] = waiter } else { flight.late[own] = waiter }
      flights[reference] = flight
    }
  }

  private func leave(_ own: UInt64, _ reference: BlobReference) {
    typealias Left = (waiter: Flight.Waiter?, abandoned: Task<Void, Never>?)
    let (waiter, abandoned) = flights.withLock { flights -> Left in
      guard var flight = flights[reference] else { return (nil, nil) }
      defer { flights[reference] = flight }
      if let waiter = flight.late.removeValue(forKey: own) { return (waiter, nil) }
      guard let waiter = flight.waiters.removeValue(forKey: own) else { return (nil, nil) }
      guard flight.waiters.isEmpty else { return (waiter, nil) }
      flight.last = waiter
      return (nil, flight.task)
    }
    abandoned?.cancel()
    waiter?.resume(
      returning: .failure(
        CairnError(
          .cancelled, "it was cancelled; what others wait for is fetched on",
          id: AttachmentID(reference).description)))
  }

  private func start(
    _ reference: BlobReference, _ job: TransferJob, _ isListed: Bool,
    after others: [Task<Void, Never>]
  ) -> Task<Void, Never> {
    Task(executorPreference: RoundThreads.shared) {
      for other in others { await other.value }
      do throws(CairnError) {
        try await self.fetchNow(reference, job, isListed)
        self.land(reference, .success(()))
      } catch { self.land(reference, .failure(error)) }
    }
  }

  /// Tells all who wait what has come of it.
  private func land(_ reference: BlobReference, _ result: Result<Void, CairnError>) {
    guard let flight = flights.withLock({ $0.removeValue(forKey: reference) }) else { return }
    for waiter in flight.waiters.values { waiter.resume(returning: result) }
    flight.last?.resume(returning: result)
    for waiter in flight.late.values { waiter.resume(returning: nil) }
  }

  /// Ends all that is being fetched.
  func cancel() {
    let all = flights.withLock { flights in flights.values.map(\.task) }
    for task in all { task.cancel() }
  }

  private func fetchNow(
    _ reference: BlobReference, _ job: TransferJob, _ wasListed: Bool
  ) async throws(CairnError) {
    var problems: [String] = []
    var failure: CairnError?
    var isDamaged = false
    var isListed = wasListed
    var known = memory.withLock { $0.listing }
    for attempt in 0..<2 {
      // What was listed before may be old.
      if attempt > 0 || known == nil {
        known = try await list()
        (isListed, problems) = (true, [])
      }
      let copies = copiesToTry(reference, known ?? [:])
      for copy in copies {
        do throws(CairnError) {
          switch try await take(reference, copy, job) {
          case .whole: return
          case .unread(let error): failure = error
          case .short: problems.append("\(copy.entry.name) is not wholly there yet")
          case .damaged:
            isDamaged = true
            problems.append("\(copy.entry.name) is damaged")
          }
        } catch {
          try noteRefused(copy, of: copies, error)
          failure = error
        }
      }
      // A copy may have gone since it was listed, and another one come.
      if failure != nil || isDamaged || wasListed || !problems.isEmpty && isListed { break }
    }
    if let failure { throw failure }
    if problems.isEmpty, try await takeOlder(reference, job, wasListed) { return }
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

  /// A copy was not given. Throws the error unless another copy is worth a try.
  private func noteRefused(
    _ copy: Copy, of copies: [Copy], _ error: CairnError
  ) throws(CairnError) {
    if error.code == .diskSpace {
      // Here, whichever copy it is: each round would fetch as much again, and for nothing.
      memory.withLock { memory in
        for copy in copies {
          Retry.fail(copy.entry, in: &memory.refused, most: BlobExchange.fullRoundsMax)
        }
      }
    }
    // Another device may have written one that can be had.
    guard Exchange.mayBeOfOne(error) || error.code == .readOnly else { throw error }
    memory.withLock { Retry.fail(copy.entry, in: &$0.refused) }
    // But not from a server that is busy; if only this one is locked, the next try begins with
    // another one.
    if error.code == .retryLater { throw error }
  }

  /// Copies that are there, those last that were of no use before.
  private func copiesToTry(
    _ reference: BlobReference, _ listing: [ContentHash: [Copy]]
  ) -> [Copy] {
    let refused = memory.withLock { $0.refused }
    let copies = BlobExchange.copies(of: reference, in: listing).filter { $0.entry.isPresent }
    func isRefused(_ copy: Copy) -> Bool {
      refused[copy.entry.name]?.version == copy.entry.version
    }
    return copies.filter { !isRefused($0) } + copies.filter { isRefused($0) }
  }

  /// From what was deleted before, if that is still there.
  private func takeOlder(
    _ reference: BlobReference, _ job: TransferJob, _ wasListed: Bool
  ) async throws(CairnError) -> Bool {
    var failure: CairnError?
    for directory in older {
      let known = wasListed ? memory.withLock { $0.older[directory] } : nil
      var listing = known ?? [:]
      if known == nil { listing = try await list(directory) }
      let copies = copiesToTry(reference, listing)
      for copy in copies {
        do throws(CairnError) {
          switch try await take(reference, copy, job, in: directory) {
          case .whole: return true
          case .unread(let error): failure = error
          case .short, .damaged: break
          }
        } catch {
          try noteRefused(copy, of: copies, error)
          failure = error
        }
      }
    }
    if let failure { throw failure }
    return false
  }

  /// Fetches one copy. What is here of an earlier try is gone on with, and if that makes a wrong
  /// whole, it is fetched from its beginning.
  private func take(
    _ reference: BlobReference, _ copy: Copy, _ job: TransferJob, in place: String? = nil
  ) async throws(CairnError) -> BlobPart.Verdict {
    var attempts = 0
    while true {
      try checkOpen()
      let part = try BlobPart(home, reference)
      let before = part.count
      let verdict = try await take(
        part, path: (place ?? directory) + "/" + copy.entry.name, size: copy.entry.size, job)
      attempts += 1
      if verdict == .damaged, before > 0, attempts == 1 { continue }
      let isStuck = part.count == before
      memory.withLock { memory in
        switch verdict {
        case .damaged:
          let version = copy.entry.version
          var retry = memory.refused[copy.entry.name] ?? Retry(version: version)
          if retry.version != version { retry = Retry(version: version) }
          retry.fail()
          memory.refused[copy.entry.name] = retry
        case .whole: memory.refused[copy.entry.name] = nil
        case .short where !isStuck: break
        case .short, .unread:
          // What comes behind it must not wait for it in every round; it may soon be there.
          Retry.fail(copy.entry, in: &memory.refused, most: Retry.lockedRoundsMax)
        }
      }
      return verdict
    }
  }

  private func take(
    _ part: BlobPart, path: String, size: UInt64, _ job: TransferJob
  ) async throws(CairnError) -> BlobPart.Verdict {
    var failure: CairnError?
    let isThere: Bool
    var rest = size - min(size, part.count)
    job.planFetch(files: 1, bytes: rest)
    // What did not come is not on its way any more.
    defer { job.noteFetched(files: 1, bytes: rest) }
    do throws(CairnError) {
      isThere = try await folder.read(path, from: part.count) { bytes throws(CairnError) in
        do throws(CairnError) {
          // Somebody else may have the datastore open by now, and fetch the same.
          try checkOpen()
          try part.append(bytes)
          let count = min(rest, UInt64(bytes.count))
          rest -= count
          job.noteFetched(bytes: count)
        } catch {
          failure = error
          // Not the folder's fault.
          throw CairnError(.cancelled, error.message)
        }
      }
    } catch {
      guard let failure else {
        if !Exchange.mayBeOfOne(error), BlobExchange.isOfOne(error) { return .unread(error) }
        throw error
      }
      // Commits need what room there is; nothing else would ever give it back.
      if failure.code == .corrupt || failure.code == .diskSpace { part.forget() }
      guard failure.code == .corrupt else { throw failure }
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
      do throws(CairnError) {
        _ = try await folder.read(path, from: 0) { bytes throws(CairnError) in
          found.update(bytes)
          try BlobExchange.checkLength(found.count, atMost: reference.length)
        }
      } catch {
        // What goes on behind its end is another content, and says nothing of the next copy.
        guard found.count > reference.length else { throw error }
      }
      if found.count == reference.length, found.digest() == reference.hash { return true }
    }
    return false
  }

  /// Ends the reading of what is longer than it should be: it may have no end.
  static func checkLength(_ count: UInt64, atMost length: UInt64) throws(CairnError) {
    if count <= length { return }
    throw CairnError(.corrupt, "it goes on behind the \(length) bytes that it should have")
  }

  // MARK: by policy

  /// Fetches what is wanted if there is a reason to look, where a round can't do the rest that is
  /// to be done about contents: the next one that can still does it.
  func fetchOnly(_ report: inout ExchangeReport) async throws(CairnError) {
    guard home.isInUse || memory.withLock({ $0.mustLook }) else { return }
    try await fetchIfDue(owesLook: true, &report)
  }

  /// `owesLook`: there is more to be done about contents.
  func fetchIfDue(
    owesLook: Bool, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let mustLook = memory.withLock { memory in
      memory.quiet += 1
      let isMissed = memory.absences > 0 && memory.absent.isDue()
      let mustLook = memory.mustLook || isMissed || memory.quiet > tuning.blobQuietRounds
      if !mustLook { memory.passRound() }
      return mustLook
    }
    guard mustLook else { return }
    report.contentProblems = []
    memory.withLock { ($0.mustLook, $0.owesLook) = (false, owesLook) }
    if !memory.withLock({ $0.isScanned }) { try scan() }
    if memory.withLock({ $0.known.isEmpty }) { return }
    let listing = try await listing(&report)
    try await fetchWanted(listing, here: try whatIsHere(&report), &report)
  }

  /// Fetches what the policy wants and the folder has, as far as one round goes. `here` are the
  /// contents that need not come.
  func fetchWanted(
    _ listing: [ContentHash: [Copy]], here: Set<BlobReference>, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let wanted = wanted(here, &report)
    // Asked once a round.
    var there = Set(wanted.filter { canBeHad($0, listing) })
    let absent = wanted.filter { reference in
      !BlobExchange.copies(of: reference, in: listing).contains { $0.entry.isPresent }
    }
    there.formUnion(try await findOlder(absent, &report))
    planFetch(wanted.filter(there.contains))
    var (missing, refusals) = (0, 0)
    var bytes: UInt64 = 0
    var isFull = false
    for reference in wanted {
      guard there.contains(reference) else {
        missing += 1
        continue
      }
      if bytes > 0, bytes + reference.length > tuning.blobRoundBytes { break }
      if options.endsEarly, Task.isCancelled { throw DatastoreFollower.aborted }
      // An empty one counts, too.
      bytes += max(1, reference.length)
      switch await fly(reference, in: transfers, isListed: true) {
      case .success:
        refusals = 0
        report.fetchedAttachments += 1
        report.fetchedAttachmentBytes += reference.length
      case .failure(let error):
        let stopsOthers = try await stopsOthers(error, &refusals, &report)
        if stopsOthers, !BlobExchange.saysFull(error) { throw error }
        report.problems.append(
          ExchangeReport.Problem(
            name: AttachmentID(reference).description, reason: error.message))
        // There is no room for the others either.
        isFull = BlobExchange.saysFull(error)
      }
      if isFull { break }
    }
    report.missingAttachments += missing
    noteWanted(wanted.count, missing, report.fetchedAttachments)
  }

  /// Those of the contents that the folder has only where a datastore of this id was deleted: they
  /// go from there before long.
  private func findOlder(
    _ wanted: [BlobReference], _ report: inout ExchangeReport
  ) async throws(CairnError) -> Set<BlobReference> {
    var found: Set<BlobReference> = []
    let hashes = Set(wanted.map(\.hash))
    memory.withLock { $0.older = [:] }
    for directory in older where found.count < wanted.count {
      var listing: [ContentHash: [Copy]] = [:]
      report.requests += 1
      do throws(CairnError) {
        for (hash, copies) in try await list(directory) where hashes.contains(hash) {
          listing[hash] = copies
        }
      } catch {
        guard Exchange.mayBeOfOne(error) || BlobExchange.isOfOne(error) || error.code == .readOnly
        else { throw error }
        // That keeps nothing from coming that is where it belongs, unless the folder gives no
        // listing at all.
        report.requests += 1
        _ = try await list()
        report.problems.append(ExchangeReport.Problem(name: directory, reason: error.message))
      }
      let known = listing
      memory.withLock { $0.older[directory] = known }
      for reference in wanted where !found.contains(reference) && canBeHad(reference, known) {
        found.insert(reference)
      }
    }
    return found
  }

  /// What the policy wants and is not here, in the order in which it is to come.
  private func wanted(
    _ here: Set<BlobReference>, _ report: inout ExchangeReport
  ) -> [BlobReference] {
    let known = memory.withLock { $0.known }
    var wanted: [(reference: BlobReference, priority: Int)] = []
    for (reference, answer) in known where !here.contains(reference) {
      guard case .always(let priority) = answer else { continue }
      if home.isAllowed(reference) {
        wanted.append((reference, priority))
      } else {
        report.skippedAttachments += 1
      }
    }
    wanted.sort { a, b in
      a.priority == b.priority
        ? (a.reference.length, a.reference.hash) < (b.reference.length, b.reference.hash)
        : a.priority > b.priority
    }
    return wanted.map(\.reference)
  }

  /// What did not come is asked for again: in the next round, and ever more seldom if the folder
  /// goes on not having it.
  private func noteWanted(_ wanted: Int, _ missing: Int, _ fetched: Int) {
    memory.withLock { memory in
      if fetched + missing < wanted { memory.mustLook = true }
      if missing == 0 || fetched > 0 {
        (memory.absences, memory.absent) = (0, Retry(version: ""))
      }
      if missing == 0 { return }
      memory.absences += 1
      if memory.absences > Exchange.patience { memory.absent.fail() }
    }
  }

  /// Says what a round is going to fetch, before it begins.
  private func planFetch(_ references: [BlobReference]) {
    // What somebody else has asked for and waits for now is counted already.
    let others = flights.withLock { Set($0.keys) }
    var bytes: UInt64 = 0
    var planned = TransferProgress.Rest()
    for reference in references {
      if bytes > 0, bytes + reference.length > tuning.blobRoundBytes { break }
      bytes += reference.length
      if others.contains(reference) { continue }
      planned.files += 1
      planned.bytes += reference.length
    }
    transfers.planFetch(files: planned.files, bytes: planned.bytes)
  }

  /// Whether there is a copy that is worth a try in this round.
  private func canBeHad(_ reference: BlobReference, _ listing: [ContentHash: [Copy]]) -> Bool {
    BlobExchange.copies(of: reference, in: listing).contains { copy in
      guard copy.entry.isPresent else { return false }
      return memory.withLock { memory in
        guard let retry = memory.refused[copy.entry.name], retry.version == copy.entry.version
        else { return true }
        if memory.refused[copy.entry.name]?.isDue() ?? true { return true }
        // The next round tries it, whatever else there is to look for.
        if memory.refused[copy.entry.name]?.isNext == true { memory.mustLook = true }
        return false
      }
    }
  }
}
