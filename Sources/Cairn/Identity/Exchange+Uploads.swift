internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Own files that went up before a round or its process ended, and that no head names yet. Their
/// deltas are about to get other names, or other bytes; who finds the files later, and does not
/// know them, takes them for published, and all in them would be there twice.
extension Exchange {
  /// Of a copy that leaves its name: if the files go on from what the other copy has published, its
  /// head is written again with them. So they are common to both; what another copy may already go
  /// by is not taken away from it. Returns whether the name is to be kept until that is done.
  func claimsUploads(
    behind head: Head, _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    let (past, unread) = try await uploads(behind: head, listing, &report)
    let claimed = past.reach(from: head, ours: [:]).head
    // Where others have still more of that name it need not be what is here.
    let isClaimed = claimed.last > head.last && word(beyond: claimed.last) == nil
    guard isClaimed || unread != nil else { return false }
    report.isRejoining = true
    forgetPlan()
    guard isClaimed, memory.withLock({ $0.mayPublish }) else {
      report.waiting.append(
        ExchangeReport.Waiting(
          name: unread?.name ?? FileName.head(device: head.device.rawValue),
          bytes: unread?.size ?? 0,
          reason: "files of this copy are to be named by the head that another copy of this "
            + "device has written, before this one takes another name; until then nothing is "
            + "published"))
      return true
    }
    try await publishHead(
      claimed, listing,
      reason: "another copy of this device has written it; it was written again with what this "
        + "one had published already, and the next exchange goes on from that", &report)
    return true
  }

  /// Of a device that keeps its name, while what it has not published becomes other deltas under
  /// the same numbers: its files are removed. Returns whether none is left, or none can be removed;
  /// then it goes on without that. One that can't be had just now may be one of them.
  ///
  /// - Parameter mayRemove: The name is nobody else's.
  func hasTakenBackUploads(
    mayRemove: Bool, _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    if following != nil { return true }
    let head = resumed(memory.withLock { $0.own })
    let (past, unread) = try await uploads(behind: head, listing, &report)
    let names = past.files.keys.sorted()
    guard let first = names.first ?? unread?.name else { return true }
    let what = names.isEmpty ? "it may have" : "it has"
    let end = names.isEmpty ? "known, or removed" : "removed"
    report.waiting.append(
      ExchangeReport.Waiting(
        name: first, bytes: listing[first]?.size ?? 0,
        reason: "\(what) deltas of this device that build on what others have left; until it is "
          + "\(end) from the folder, they are not published anew"))
    guard mayRemove, memory.withLock({ $0.mayPublish }) else { return false }
    try await remove(names, &report)
    return unread == nil && memory.withLock { $0.removals.isGivenUp }
  }

  /// The files of this copy in the folder that have deltas behind a head, by name; and one that may
  /// be among them, and can't be had just now.
  private func uploads(
    behind head: Head, _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) -> (past: OwnPast, unread: FolderEntry?) {
    let last = store.vector[store.device]
    let entries = listing.values.filter { entry in
      guard let file = FileName.published(entry.name) else { return false }
      return file.device == store.device.rawValue && file.last > head.last && file.last <= last
    }
    var (past, unread) = (OwnPast(), FolderEntry?.none)
    if entries.isEmpty { return (past, unread) }
    let ours = try ownBranch().chains
    // Then they go on from something else.
    if let chain = ours[head.last], chain != head.chain { return (past, unread) }
    for entry in entries.sorted(by: { $0.name < $1.name }) {
      guard entry.isPresent else {
        unread = entry
        continue
      }
      report.requests += 1
      let limit = PublishedSegment.fileBytesMax
      guard let bytes = try await readFile(entry, limit, &report) else {
        // A server that does not give it just now may do so in a while.
        if 1..<Exchange.patience ~= withheldCount(entry) { unread = entry }
        continue
      }
      try checkOpen()
      guard let file = pastFile(entry.name, bytes), let chain = file.chains.last,
        ours[file.segment.last] == chain
      else { continue }
      past.files[entry.name] = file
    }
    return (past, unread)
  }

  /// What was made ready for the next sync counts with less than is published.
  ///
  /// - Parameter onlyIfLeaving: It stays, unless this device leaves its name.
  func forgetPlan(onlyIfLeaving: Bool = false) {
    rejoining.withLock { phase in
      guard case .staging(let staging) = phase else { return }
      staging.state.withLock { state in
        let leaves = state.plan.map { $0.device != store.device } ?? false
        if !onlyIfLeaving || leaves { state.plan = nil }
      }
    }
  }
}
