internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// The rounds of a datastore that is only followed: they read, and never write to the folder.
extension Exchange {
  /// The folder must be the one that was subscribed to, and the datastore must still be there.
  func checkFollowed(
    _ source: FollowedSource, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let file = source.file
    let identity: UInt128
    if let known = memory.withLock({ $0.folderIdentity }) {
      identity = known
    } else {
      identity = try await followedIdentity(source, &report)
      if identity != file.folder {
        try checkOpen()
        source.noteFolder(identity)
      }
      memory.withLock { $0.folderIdentity = identity }
    }
    let found = try await source.catalogue.entries(in: folder, identity: identity, &report)
    let entry = found.entries[datastoreID] ?? .nothing
    if entry.generation > file.generation {
      throw CairnError(
        .deleted,
        "the datastore \(datastoreID) was deleted in the folder"
          + (entry.view == nil ? "" : ", and there is another one of that name now")
          + "; what was pulled stays here until you unsubscribe", id: datastoreID)
    }
  }

  /// That of the folder as it is now, which is the one that was subscribed to.
  func followedIdentity(
    _ source: FollowedSource, _ report: inout ExchangeReport
  ) async throws(CairnError) -> UInt128 {
    report.requests += 1
    let identity = try await FollowedSource.identity(of: folder, id: datastoreID)
    if identity == source.file.folder { return identity }
    // Two devices may have made the folder at once, and one of the two files has won since.
    report.requests += 1
    let entries = try await folder.list(directory)
    let isKnown = try await hasKnownHead(entries, &report)
    try checkOpen()
    guard isKnown else { throw otherFolderError }
    return identity
  }

  private var otherFolderError: CairnError {
    CairnError(
      .disallowed,
      "this is another shared folder than the one that \(datastoreID) was subscribed to in; "
        + "nothing was changed. Give the right folder, or unsubscribe and subscribe anew",
      file: FileName.folderIdentity, id: datastoreID)
  }

  /// A head that was there is not: is this still the same folder?
  func isHeadMissing(_ listing: [String: FolderEntry]) -> Bool {
    memory.withLock { memory in
      memory.heads.keys.contains { listing[FileName.head(device: $0.rawValue)] == nil }
    }
  }

  /// It is: the heads that are gone are asked about once, and read again if they come back.
  func forgetMissingHeads(_ listing: [String: FolderEntry]) {
    memory.withLock { memory in
      for device in memory.heads.keys.sorted() {
        let name = FileName.head(device: device.rawValue)
        guard listing[name] == nil else { continue }
        memory.heads[device] = nil
        memory.versions[name] = nil
      }
    }
  }

  /// The end of a round: contents of attachments, by policy. What goes wrong with them is a problem
  /// in the report.
  func fetchFollowedBlobs(_ report: inout ExchangeReport) async throws(CairnError) {
    guard let blobs else { return }
    let before = report.problems.count
    do throws(CairnError) { try await blobs.follow(&report) } catch {
      blobs.lookAgain()
      if ExchangeCondition.saysNothing(error) { throw error }
      report.problems.append(
        ExchangeReport.Problem(name: error.file ?? blobs.directory, reason: error.message))
    }
    let found = report.problems[before...]
    if report.contentProblems != nil || !found.isEmpty { report.contentProblems = Array(found) }
  }

  /// Something that a snapshot has, and no other file, was missed, and not for long enough yet to
  /// be believed lost.
  var isAboutToJoin: Bool {
    if let staged { return staged.isAboutToJoin }
    return memory.withLock { memory in
      memory.needed.values.contains { $0 < Exchange.patience }
    }
  }

  /// Puts a bad file aside. Where only some tables are kept, a file of all of them is not: the
  /// reason has to do.
  ///
  /// - Returns: what to say about that.
  @discardableResult
  func putAside(_ name: String, _ bytes: [UInt8], reason: String) -> String {
    let isHead = bytes.starts(with: Head.magic)
    if isHead || store.options.followed ?? .all == .all {
      quarantine.keep(name, bytes, reason: reason)
      return "kept in quarantine"
    }
    quarantine.note(name, bytes, reason: reason)
    return "only this reason is kept in quarantine"
  }

  /// Abort means at once, where there is more than one file to come.
  func checkAborted() throws(CairnError) {
    if endsEarly, Task.isCancelled { throw DatastoreFollower.aborted }
  }
}

extension FollowedSource {
  /// Which folder it is. One that has no cairn.json is none of ours, or not there just now.
  static func identity(of folder: any Folder, id: String) async throws(CairnError) -> UInt128 {
    switch try await FolderIdentity.find(in: folder) {
    case .whole(let identity): return identity
    case .half(let bytes): throw FolderIdentity.halfError(bytes)
    case .missing:
      throw CairnError(
        .notFound,
        "there is no shared folder, or it is empty: \(FileName.folderIdentity) is missing; nothing "
          + "was changed. Wait until the folder is there, or check its address",
        file: FileName.folderIdentity, id: id)
    }
  }
}
