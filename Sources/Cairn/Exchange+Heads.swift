internal import CairnDisk
internal import CairnBytes
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Reading heads, and telling what else lies in the folder.
extension Exchange {
  func readHeads(
    _ entries: [FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let (vector, left) = (store.vector, store.cuts)
    memory.withLock { $0.forgetUnreadHeads(notIn: entries) }
    for entry in entries {
      guard let number = FileName.headDevice(entry.name), number != store.device.rawValue else {
        continue
      }
      let isKnown = memory.withLock { memory in
        guard memory.hasRead(entry) else { return false }
        memory.unreadHeads[entry.name] = nil
        return true
      }
      if isKnown { continue }
      let device = DeviceID(rawValue: number)
      let waiting = report.waiting.count
      try await readHead(device, entry, &report)
      if left.hasLeft(device, with: vector[device]) {
        report.waiting.removeSubrange(waiting...)
      }
    }
  }

  /// Reads the heads in the folder, and nothing else.
  func look() async throws(CairnError) -> [DeviceInfo] {
    try checkOpen()
    try await checkIsThere()
    var report = ExchangeReport()
    beginAsking()
    try await readHeads(try await folder.list(directory), &report)
    try checkOpen()
    learnWords()
    let devices = devices()
    try checkOpen()
    return devices
  }

  /// Devices that have a head in the folder, as far as it was read.
  private func devices() -> [DeviceInfo] {
    let (heads, own) = memory.withLock { ($0.heads, $0.own) }
    let (vector, retired, awaited) = (store.vector, store.retired, store.silentMembers)
    var all = heads.values.sorted { $0.device < $1.device }
    if own.generation > 0 { all.append(own) }
    return all.map { head in
      DeviceInfo(
        id: head.device.description, user: head.user,
        isThisDevice: head.device == store.device, publishedDeltas: head.last,
        incorporatedDeltas: min(vector[head.device], head.last), files: head.segments.count,
        bytes: head.segments.reduce(0) { $0 + $1.size },
        isRetired: retired.contains(head.device), isAwaited: awaited.contains(head.device),
        acknowledged: Dictionary(
          uniqueKeysWithValues: head.acknowledged.entries.map {
            ($0.device.description, $0.sequence)
          }))
    }.sorted { $0.id < $1.id }
  }

  private func readHead(
    _ device: DeviceID, _ entry: FolderEntry, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    if let known = verdict(on: entry) {
      noteUnreadHead(entry, known)
      return note(entry, known, &report)
    }
    guard entry.isPresent, entry.size > 0 else {
      let reason = "its content is not here yet"
      noteUnreadHead(entry, reason)
      if entry.isPresent { memory.withLock { $0.noteHalf(entry) } }
      report.waiting.append(
        ExchangeReport.Waiting(name: entry.name, bytes: entry.size, reason: reason))
      return
    }
    report.requests += 1
    guard let bytes = try await readFile(entry, Head.bytesMax, mayBreak: true, &report) else {
      return
    }
    do throws(LogError) {
      let head = try Head(bytes, name: entry.name, datastore: store.datastore)
      guard head.device == device else {
        throw LogError(.foreign, entry.name, at: 32, "the head of another device")
      }
      forgive(entry.name)
      take(head, entry)
    } catch {
      noteUnreadHead(entry, error.detail)
      if error.reason == .truncated { memory.withLock { $0.noteHalf(entry) } }
      judge(error, entry, bytes, &report)
    }
  }

  /// An older head than the one that is known has come back: nothing to learn from it.
  /// Unless it is of another copy of its device: then that one's is what counts from now on.
  private func take(_ head: Head, _ entry: FolderEntry) {
    // A process that has read none yet knows of later deltas, too.
    let isOld = head.last < store.vector[head.device]
    memory.withLock { memory in
      memory.versions[entry.name] = entry.version
      memory.doubt(entry, unless: memory.isNews(head) && !isOld)
      let chain = memory.histories.chain(head.device, at: head.last)
      if let chain, chain != head.chain {
        memory.forked.insert(head.device)
      } else {
        if chain != nil { memory.forked.remove(head.device) }
        if let known = memory.heads[head.device], known.generation > head.generation { return }
      }
      memory.heads[head.device] = head
    }
  }

  /// Half a file is waited for, and a newer version's; a damaged or foreign one is kept aside and
  /// reported.
  func judge(
    _ error: LogError, _ entry: FolderEntry, _ bytes: [UInt8], _ report: inout ExchangeReport
  ) {
    switch error.reason {
    case .truncated, .missing, .disk:
      report.waiting.append(
        ExchangeReport.Waiting(
          name: entry.name, bytes: entry.size, reason: "not wholly there yet: \(error.detail)"))
    case .needsNewerVersion:
      noteNewer(entry, error.detail)
      note(entry, error.detail, &report)
    case .corrupt, .foreign, .limit, .poisoned:
      putAside(entry.name, bytes, reason: error.description)
      let reason =
        error.description + "; it is put into quarantine, and the file is read again later, "
        + "and when it changes"
      refuse(entry, reason)
      report.problems.append(ExchangeReport.Problem(name: entry.name, reason: reason))
    }
  }

  /// A file of the datastore's directory; nil, and a note in the report, if it is not to be had.
  ///
  /// - Parameters:
  ///   - isVital: Nothing can go on without it, so that a server which does not give it ends the
  ///     round.
  ///   - mayBreak: The others can be had without it, so that a connection which breaks at this one
  ///     alone does not end the round.
  func readFile(
    _ entry: FolderEntry, _ limit: Int, isVital: Bool = false, mayBreak: Bool = false,
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> [UInt8]? {
    let bytes: [UInt8]?
    do throws(CairnError) {
      bytes = try await folder.read(directory + "/" + entry.name, limit: limit)
    } catch {
      if error.code == .sizeLimit, !isVital {
        // More than the folder can give in one piece.
        noteNotWithheld(entry.name)
        report.problems.append(ExchangeReport.Problem(name: entry.name, reason: error.message))
        return nil
      }
      try await noteUnread(entry, error, isVital: isVital, mayBreak: mayBreak, &report)
      return nil
    }
    noteGiven(entry.name)
    if bytes == nil { noteAbsent(entry.name, &report) }
    return bytes
  }

  /// The bytes of one from a place on, in the same way; false if it is not to be had, or no more.
  func readFile(
    _ entry: FolderEntry, from start: UInt64, mayBreak: Bool = false,
    _ report: inout ExchangeReport, _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool {
    let isThere: Bool
    do throws(CairnError) {
      isThere = try await folder.read(directory + "/" + entry.name, from: start, body)
    } catch {
      try await noteUnread(entry, error, mayBreak: mayBreak, &report)
      return false
    }
    noteGiven(entry.name)
    if !isThere { noteAbsent(entry.name, &report) }
    return isThere
  }

  private func noteAbsent(_ name: String, _ report: inout ExchangeReport) {
    report.waiting.append(
      ExchangeReport.Waiting(name: name, bytes: 0, reason: "it was listed, but is not there"))
  }

  /// What is wrong with one file is a problem in the report; everything else ends the round.
  private func noteUnread(
    _ entry: FolderEntry, _ error: CairnError, isVital: Bool = false, mayBreak: Bool = false,
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    switch error.code {
    case .fileIO, .notFound, .corrupt, .readOnly: noteNotWithheld(entry.name)
    case _ where Exchange.isOfConnection(error) && mayBreak:
      // If there is none any more this one says so.
      report.requests += 1
      _ = try await folder.list(directory)
      withhold(entry, error)
    case _ where Exchange.mayBeOfOne(error) && !isVital:
      try await checkAnswering(after: error, &report)
      withhold(entry, error)
    default: throw error
    }
    // One that is gone, or longer than a head can be, is none.
    let isHead = FileName.headDevice(entry.name) != nil
    if isHead, error.code != .notFound, error.code != .corrupt {
      noteUnreadHead(entry, error.message)
    }
    report.problems.append(ExchangeReport.Problem(name: entry.name, reason: error.message))
  }

  /// Nobody knows what it says of its device, unless it is longer than a head can be.
  private func noteUnreadHead(_ entry: FolderEntry, _ reason: String) {
    if entry.size > UInt64(Head.bytesMax) { return }
    memory.withLock { $0.unreadHeads[entry.name] = reason }
  }

  /// What a server says may be about one file only, such as one that somebody has locked: it has
  /// listed the directory to the same device just before.
  static func mayBeOfOne(_ error: CairnError) -> Bool {
    [.server, .auth, .response, .request, .retryLater].contains(error.code)
  }

  /// What a folder that knows no parts of files says of one which is too large for it may be
  /// anything but the end of a round, of an hour's budget, or of the connection, and what is looked
  /// at elsewhere.
  static func mayBeOfLargeFile(_ error: CairnError) -> Bool {
    switch error.code {
    case .closed, .deleted, .shutdown, .cancelled, .quota, .sizeLimit: false
    // See `mayBeOfOne`.
    case .server, .auth, .response, .request, .retryLater: false
    default: !isOfConnection(error)
    }
  }

  /// What is asked for at the same place again may well be given.
  static func isOfConnection(_ error: CairnError) -> Bool {
    [.network, .timeout, .noConnection, .ssl].contains(error.code)
  }

  /// Whether the directory is to be listed once more before anything else is asked for, after so
  /// many refusals in a row: a server that is out of order, or a log-in page before it, is not
  /// asked for all of its files; one that is busy for none.
  static func mustListAgain(after error: CairnError, refusals: Int) -> Bool {
    error.code == .retryLater || refusals.isMultiple(of: 2)
  }

  private func checkAnswering(
    after error: CairnError, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let count = memory.withLock { memory in
      memory.refusals += 1
      return memory.refusals
    }
    guard Exchange.mustListAgain(after: error, refusals: count) else { return }
    report.requests += 1
    _ = try await folder.list(directory)
  }

  /// Files that are not ours by name: identical copies are ignored, others are reported.
  func lookAtForeignFiles(
    _ listing: FolderListing, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    for entry in listing.strangers {
      if let known = memory.withLock({ $0.foreign[entry.name] }), known.version == entry.version {
        note(entry, known.problem, &report)
        continue
      }
      if let known = verdict(on: entry) {
        note(entry, known, &report)
        continue
      }
      let problem: String?
      do throws(CairnError) { problem = try await verdict(entry, listing, &report) } catch {
        // Nothing waits for it.
        if error.code == .quota { continue }
        throw error
      }
      // It is in the report, and asked for again.
      if withheldCount(entry) > 0 { continue }
      memory.withLock { $0.foreign[entry.name] = (entry.version, problem) }
      note(entry, problem, &report)
    }
  }

  /// A file that begins as one of ours; nil for others, of which no more than the first piece is
  /// read.
  private func readOurs(
    _ entry: FolderEntry, _ report: inout ExchangeReport
  ) async throws(CairnError) -> [UInt8]? {
    var bytes: [UInt8] = []
    var isOther = false
    do throws(CairnError) {
      let isThere = try await readFile(entry, from: 0, mayBreak: true, &report) {
        piece throws(CairnError) in
        bytes += piece
        let magic = Array(bytes.prefix(8))
        isOther =
          magic.count == 8 && magic != PublishedSegment.magic && magic != Head.magic
          || bytes.count > PublishedSegment.fileBytesMax
        if isOther { throw CairnError(.cancelled, "it is none of ours") }
      }
      return isThere ? bytes : nil
    } catch {
      guard isOther else { throw error }
      noteGiven(entry.name)
      return nil
    }
  }

  func note(
    _ entry: FolderEntry, _ problem: String?, _ report: inout ExchangeReport
  ) {
    guard let problem else {
      report.ignoredFiles += 1
      return
    }
    if memory.withLock({ $0.isNewer(entry) }) {
      report.waiting.append(
        ExchangeReport.Waiting(name: entry.name, bytes: entry.size, reason: problem))
    } else {
      report.problems.append(ExchangeReport.Problem(name: entry.name, reason: problem))
    }
  }

  /// nil if the file says nothing new: not one of ours at all, or the copy of one that is here.
  private func verdict(
    _ entry: FolderEntry, _ listing: FolderListing, _ report: inout ExchangeReport
  ) async throws(CairnError) -> String? {
    guard entry.size >= 8, entry.size <= UInt64(PublishedSegment.fileBytesMax), entry.isPresent,
      !entry.isElsewhere, !entry.isOfEngine
    else { return nil }
    report.requests += 1
    guard let bytes = try await readOurs(entry, &report) else { return nil }
    let magic = Array(bytes.prefix(8))
    if magic == PublishedSegment.magic {
      do throws(LogError) {
        let segment = try PublishedSegment(bytes, name: entry.name, datastore: store.datastore)
        if listing.byName[segment.encodedName(bytes)] != nil { return nil }
        if store.vector[DeviceID(rawValue: segment.device)] >= segment.last { return nil }
      } catch {
        let place = putAside(entry.name, bytes, reason: error.description)
        return "a damaged copy of a segment (\(error.detail)); \(place)"
      }
      let place = putAside(entry.name, bytes, reason: "a segment under a strange name")
      return "a segment under a strange name, which no device lists; \(place)"
    }
    if magic == Head.magic {
      do throws(LogError) {
        let head = try Head(bytes, name: entry.name, datastore: store.datastore)
        let known = memory.withLock { $0.heads[head.device] ?? $0.own }
        if known.device == head.device, known.generation > head.generation || known == head {
          return nil
        }
      } catch {
        putAside(entry.name, bytes, reason: error.description)
        return "a damaged copy of a head (\(error.detail)); kept in quarantine"
      }
      putAside(entry.name, bytes, reason: "a head under a strange name")
      return "a copy of a head that is newer than the head itself, or another one of the same age; "
        + "kept in quarantine"
    }
    return nil
  }
}

extension FolderEntry {
  /// Whether the name leads out of the directory that was listed, as a hostile server may say.
  var isElsewhere: Bool {
    ["", ".", ".."].contains(name) || name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
  }

  /// Whether its name is one that engines and desktops give to what is theirs: Syncthing brings a
  /// file as `.syncthing.<name>.tmp`, and others lock and note under such names. A conflicted copy
  /// begins as the file of ours does, so none is missed; but half of what is still coming would be
  /// a damaged copy, and all of it one under a strange name.
  var isOfEngine: Bool { name.hasPrefix(".") || name.hasPrefix("~") }
}

extension PublishedSegment {
  /// The name that a file of these bytes has.
  func encodedName(_ bytes: [UInt8]) -> String {
    FileName.published(
      FileName.Published(
        device: device, first: first, last: last,
        hash: XXH3.hash128(bytes, 0..<(bytes.count - 16))))
  }
}
