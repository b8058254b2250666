internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// A snapshot that is on its way: what of it is here already.
struct SnapshotDownload {
  let path: String
  let content: UInt128
  let size: UInt64
  /// The deltas that are in it.
  let vector: VersionVector
  var received: UInt64 = 0
}

/// Snapshots may be large: they pass through in parts, and none of them is ever in memory whole.
extension Exchange {
  /// Bytes of a file at home that are hashed at once.
  static let snapshotPartBytes: UInt64 = 4 << 20

  /// Fetches a snapshot into a file of the store; nil, and a note in the report, if it can't be had
  /// now, or is not what its head says. What has come when the connection breaks is kept for the
  /// next round of this process.
  func download(
    _ snapshot: Head.Snapshot, _ entry: FolderEntry, _ listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> String? {
    let path = beginDownload(of: snapshot)
    guard try await receive(snapshot, entry, listing, in: path, &report) else {
      // It may be another one the next time, unless the rest is only not given just now.
      if withheldCount(entry) == 0 { noteReceived(0) }
      return nil
    }
    return try await endDownload(of: snapshot, in: path, entry, listing, &report)
  }

  /// Goes on with what is here of the same snapshot. The file that it is to be in.
  private func beginDownload(of snapshot: Head.Snapshot) -> String {
    if let known = download.withLock({ $0 }), known.content == snapshot.content,
      known.size == snapshot.size
    {
      return known.path
    }
    // Nobody needs it any more.
    dropDownload()
    let path = store.incomingSnapshotPath()
    let begun = SnapshotDownload(
      path: path, content: snapshot.content, size: snapshot.size, vector: snapshot.vector)
    download.withLock { $0 = begun }
    return path
  }

  /// If the file stays, opening removes it.
  private func dropDownload() {
    guard let begun = download.withLock({ $0.take() }) else { return }
    do { try machine.disk.remove(begun.path) } catch {}
  }

  /// Nobody asks for the rest of one whose deltas have come meanwhile, or that can't be used.
  func dropUnwantedDownload() {
    guard let begun = download.withLock({ $0 }) else { return }
    let isRefused = memory.withLock { $0.refusedSnapshots[begun.content] != nil }
    if isRefused || have().covers(begun.vector) { dropDownload() }
  }

  /// It failed here, and not in the folder: nothing is left of it, and deltas have their turn.
  /// Where they do not have all of it, the round ends with what failed, after them.
  private func giveUp(
    _ snapshot: Head.Snapshot, _ error: CairnError, _ listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    dropDownload()
    noteNotTakenIn(error)
    guard isInDeltas(snapshot.vector, listing) else {
      try await fetchSegments(listing, &report)
      throw error
    }
    report.problems.append(
      ExchangeReport.Problem(
        name: snapshot.name, reason: error.message + "; deltas are fetched instead"))
  }

  /// Whether all these deltas are here, or in files that are there.
  private func isInDeltas(_ vector: VersionVector, _ listing: [String: FolderEntry]) -> Bool {
    var reach = have()
    for head in memory.withLock({ $0.sortedHeads }) {
      for segment in head.segments where segment.last > reach[head.device] {
        guard segment.first <= reach[head.device] + 1,
          let entry = listing[segment.name(head.device)], entry.isPresent,
          entry.size == segment.size, verdict(on: entry) == nil
        else { break }
        reach[head.device] = segment.last
      }
    }
    return reach.covers(vector)
  }

  /// What is kept if the round ends here.
  private func noteReceived(_ bytes: UInt64) { download.withLock { $0?.received = bytes } }

  /// Looks at what has come, all of it.
  private func endDownload(
    of snapshot: Head.Snapshot, in path: String, _ entry: FolderEntry,
    _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) -> String? {
    let found: UInt128?
    do throws(CairnError) { found = try DiskSource.hash(of: path, machine.disk) } catch {
      // What this process lacks just now says nothing of what has come.
      if error.code == .system || error.code == .memory { throw error }
      try await giveUp(snapshot, error, listing, &report)
      return nil
    }
    guard let content = found else {
      noteReceived(0)
      report.waiting.append(
        ExchangeReport.Waiting(
          name: snapshot.name, bytes: snapshot.size, reason: "it is gone from this device again"))
      return nil
    }
    download.withLock { $0 = nil }
    guard content == snapshot.content else {
      let reason = "the snapshot is not what its head says; all deltas are fetched instead"
      do { try machine.disk.remove(path) } catch {}
      // Also by who has nothing: what another device vouches for has its turn meanwhile.
      refuse(entry, reason)
      report.problems.append(ExchangeReport.Problem(name: snapshot.name, reason: reason))
      return nil
    }
    forgive(snapshot.name)
    try checkOpen()
    return path
  }

  /// Appends what is missing. False if the file in the folder is gone, or is shorter than it says,
  /// or if there is no place for it here.
  private func receive(
    _ snapshot: Head.Snapshot, _ entry: FolderEntry, _ listing: [String: FolderEntry],
    in path: String, _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    var beginsAnew = false
    while true {
      let arrival = Arrival(download.withLock { $0?.received ?? 0 }, of: snapshot.size)
      let start = arrival.count
      if arrival.isWhole { break }
      try checkAborted()
      report.requests += 1
      let isThere: Bool
      do throws(CairnError) {
        isThere = try await readFile(entry, from: arrival.count, &report) {
          bytes throws(CairnError) in try take(bytes, arrival, in: path)
        }
      } catch {
        guard let failure = arrival.failure else {
          // More came than belongs to it.
          if arrival.isWhole { break }
          guard isWithheld(entry, error, hasCome: arrival.count > start) else { throw error }
          report.problems.append(
            ExchangeReport.Problem(
              name: entry.name, reason: error.message + "; all deltas are fetched instead"))
          return false
        }
        // What has come is gone on with by whoever comes next. What this process lacks just now
        // says nothing of it.
        let isOfProcess = failure.code == .system || failure.code == .memory
        if arrival.isEnded || isOfProcess { throw failure }
        // What was here is gone, whoever took it: from the beginning, and not for ever.
        let isGone = failure.code == .notFound && arrival.count > 0
        noteReceived(0)
        guard isGone, !beginsAnew else {
          try await giveUp(snapshot, failure, listing, &report)
          return false
        }
        beginsAnew = true
        continue
      }
      if !isThere { return false }
      guard arrival.isWhole else {
        report.waiting.append(
          ExchangeReport.Waiting(
            name: snapshot.name, bytes: snapshot.size,
            reason: "\(arrival.count) of \(snapshot.size) bytes are here"))
        return false
      }
      break
    }
    transfers.noteFetched(files: 1)
    return true
  }

  /// Whether the round goes on with the deltas, since the folder does not give a snapshot just now.
  /// A connection that breaks ends the round, the first times; but where nothing has come of it the
  /// snapshot is asked for ever more seldom, so that it ends some rounds, and not all.
  private func isWithheld(_ entry: FolderEntry, _ error: CairnError, hasCome: Bool) -> Bool {
    let isOfConnection = Exchange.isOfConnection(error) && !hasCome
    if hasCome { noteGiven(entry.name) }
    guard isOfConnection || Exchange.mayBeOfLargeFile(error) else { return false }
    withhold(entry, error)
    return !isOfConnection || withheldCount(entry) >= Exchange.patience
  }

  /// How far a snapshot has come. A reference: with a place that changes while it is waited for,
  /// the optimised code of Swift 6.3 ran into nowhere.
  private final class Arrival {
    var count: UInt64
    let size: UInt64
    /// What went wrong here, and not with the folder.
    var failure: CairnError?
    /// Nobody wants it any more, or not now: that is no failure of this device either.
    var isEnded = false
    var isWhole: Bool { count >= size }

    init(_ count: UInt64, of size: UInt64) { (self.count, self.size) = (count, size) }
  }

  private func take(
    _ bytes: [UInt8], _ arrival: Arrival, in path: String
  ) throws(CairnError) {
    do throws(CairnError) {
      try checkOpen()
      try checkAborted()
    } catch {
      (arrival.failure, arrival.isEnded) = (error, true)
      // Not the folder's fault, whatever it is.
      throw CairnError(.cancelled, error.message)
    }
    let rest = arrival.size - arrival.count
    guard rest > 0 else { throw CairnError(.cancelled, "no more is wanted") }
    let wanted = UInt64(bytes.count) > rest ? Array(bytes.prefix(Int(rest))) : bytes
    do throws(DiskError) { try keep(wanted, at: arrival.count, in: path) } catch {
      let failure = CairnError(error)
      arrival.failure = failure
      // Not the folder's fault.
      throw CairnError(.cancelled, failure.message)
    }
    arrival.count += UInt64(wanted.count)
    transfers.noteFetched(bytes: UInt64(wanted.count))
    noteReceived(arrival.count)
  }

  private func keep(
    _ bytes: [UInt8], at start: UInt64, in path: String
  ) throws(DiskError) {
    if start == 0, try machine.disk.info(path) != nil { try machine.disk.remove(path) }
    let file = try machine.disk.open(path, start == 0 ? .create : .readWrite)
    defer { file.close() }
    try file.write(bytes.span, at: start)
  }

  /// The hash of a file in the folder; nil if it is not there, has another size than was listed, or
  /// can't be had now, which is noted.
  func hash(
    of entry: FolderEntry, _ report: inout ExchangeReport
  ) async throws(CairnError) -> UInt128? {
    guard case .hash(let hash) = try await reading(of: entry, &report) else { return nil }
    return hash
  }

  /// What came of reading a file of the folder for its hash.
  enum Reading: Equatable {
    case hash(UInt128)
    /// It has another size than was listed, or more than there is a budget or a way for.
    case other
    /// It is not there, or can't be had now.
    case unread
  }

  func reading(
    of entry: FolderEntry, _ report: inout ExchangeReport
  ) async throws(CairnError) -> Reading {
    guard let hash = StreamingXXH3() else { return .unread }
    let arrival = Arrival(0, of: entry.size)
    report.requests += 1
    let isThere: Bool
    do throws(CairnError) {
      isThere = try await readFile(entry, from: 0, &report) { bytes throws(CairnError) in
        arrival.count += UInt64(bytes.count)
        guard arrival.count <= entry.size else {
          throw CairnError(.cancelled, "no more is wanted")
        }
        hash.update(bytes)
      }
    } catch {
      // If more came than belongs to it, it is another file.
      if arrival.count <= entry.size {
        // Not withheld: whoever asks knows better than to read it in each hour, or at all.
        guard error.code == .quota || error.code == .sizeLimit else { throw error }
        report.problems.append(ExchangeReport.Problem(name: entry.name, reason: error.message))
      }
      return .other
    }
    guard isThere else { return .unread }
    return arrival.count == entry.size ? .hash(hash.digest()) : .other
  }
}

/// A file at home, read a part at a time. It stays readable when somebody removes it meanwhile.
final class DiskSource: FolderSource {
  let size: UInt64
  private let file: any DiskFile

  private init(_ file: any DiskFile, size: UInt64) { (self.file, self.size) = (file, size) }

  /// nil if there is no such file.
  static func open(_ path: String, _ disk: any Disk) throws(CairnError) -> DiskSource? {
    do throws(DiskError) {
      let file = try disk.open(path, .read)
      return DiskSource(file, size: try file.size())
    } catch {
      if error.reason == .notFound { return nil }
      throw CairnError(error)
    }
  }

  /// The hash of a file; nil if there is none.
  static func hash(of path: String, _ disk: any Disk) throws(CairnError) -> UInt128? {
    guard let source = try open(path, disk) else { return nil }
    defer { source.close() }
    return try source.hash()
  }

  func read(_ range: Range<UInt64>) throws(CairnError) -> [UInt8] {
    let bytes: [UInt8]
    do {
      bytes = try file.read(at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
    } catch { throw CairnError(error) }
    guard UInt64(bytes.count) == range.upperBound - range.lowerBound else {
      throw CairnError(.fileIO, "\(file.path) has become shorter", file: file.path)
    }
    return bytes
  }

  func hash() throws(CairnError) -> UInt128 {
    guard let hash = StreamingXXH3() else { throw CairnError(.memory, "there is no memory left") }
    var start: UInt64 = 0
    while start < size {
      let end = min(size, start + Exchange.snapshotPartBytes)
      hash.update(try read(start..<end))
      start = end
    }
    return hash.digest()
  }

  func close() { file.close() }

  deinit { file.close() }
}
