internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Contents that are damaged on this device, whether or not anything refers to them.
extension Datastore {
  /// Reads every content that is here to the last byte. Returns those that are damaged, with the
  /// lengths that they had, and those that can't be read, with the reason. Of the damaged ones,
  /// those that records refer to go into quarantine; the others stay for `fetchAgain`: nothing else
  /// would tell the next try of them.
  ///
  /// - Parameter used: The hashes of those that records refer to.
  package func findDamaged(
    used: Set<String>
  ) throws(CairnError) -> [(id: AttachmentID, failure: CairnError?)] {
    try checkOpen()
    var result: [(id: AttachmentID, failure: CairnError?)] = []
    for file in try blobs.files() {
      let id = AttachmentID(file.reference)
      do throws(CairnError) {
        if try blobs.isRight(file) { continue }
        if used.contains(id.sha256) { _ = blobs.putAside(file) }
        result.append((id, nil))
      } catch {
        // Gone since it was listed.
        if error.code == .notFound { continue }
        result.append((id, error))
      }
    }
    return result
  }

  /// Fetches a content that is damaged here, and that no record refers to: its hash is known, and
  /// its length may have been another one. What is here goes into quarantine once the right one has
  /// come, or the folder has answered that it does not have it; else it stays, for another try.
  ///
  /// Returns what has come; nil if nothing has to, if there is no folder, or if that does not have
  /// it.
  package func fetchAgain(_ damaged: AttachmentID) async throws(CairnError) -> AttachmentID? {
    try checkOpen()
    let hash = damaged.reference.hash
    let found = try blobs.files().filter { $0.hash == hash }
    var bad: [BlobStore.File] = []
    for file in found where try !blobs.isRight(file) { bad.append(file) }
    // Under its other name it may be whole.
    let isHere = bad.count < found.count
    guard !isHere, let exchanger, let exchange = exchanger.blobs else {
      for file in bad { _ = blobs.putAside(file) }
      return nil
    }
    let listing = try await exchange.list()
    let copies = listing[hash] ?? []
    let lengths = Set(copies.filter(\.entry.isPresent).map(\.entry.size)).sorted()
    if lengths.isEmpty {
      if let copy = copies.first {
        throw CairnError(
          .retryLater,
          "the cloud drive keeps \(copy.entry.name) elsewhere: have it downloaded",
          file: copy.entry.name, id: id)
      }
      try await checkIsThere(exchanger)
    }
    // Somebody else may have the datastore open by now.
    try checkOpen()
    if lengths.isEmpty {
      for file in bad { _ = blobs.putAside(file) }
      return nil
    }
    let kept = try blobs.keepApart(bad)
    var failure: CairnError?
    for length in lengths {
      let reference = BlobReference(length: length, hash: hash)
      do throws(CairnError) {
        try await exchange.fetch(reference)
        if let kept { _ = blobs.putAside(kept) }
        return AttachmentID(reference)
      } catch { failure = error }
    }
    if let kept, isOpen { blobs.putBack(kept) }
    if let failure { throw failure }
    return nil
  }

  /// Throws if the folder that this was exchanged with is not there: a drive that is away has no
  /// contents either.
  private func checkIsThere(_ exchanger: Exchange) async throws(CairnError) {
    // Then it is known which one it is.
    if isFollowed || exchanger.memory.withLock({ $0.publication != nil }) {
      var report = ExchangeReport()
      return try await exchanger.checkFolder(&report)
    }
    guard case .missing = try await FolderIdentity.find(in: exchanger.folder) else { return }
    guard try StoredLinkage.wasExchanged(store.directory, disk: blobs.machine.disk) else { return }
    throw CairnError(
      .notFound,
      "the shared folder is empty, or not there: \(FileName.folderIdentity) is missing; nothing "
        + "was changed. Wait until the folder is there", file: FileName.folderIdentity, id: id)
  }
}

extension BlobStore {
  /// The files of all contents: both, where a crash has left one under two names.
  fileprivate func files() throws(CairnError) -> [File] {
    do throws(DiskError) {
      guard try machine.disk.info(directory) != nil else { return [] }
      var result: [File] = []
      for entry in try machine.disk.list(directory) where entry.info.kind == .file {
        guard let (hash, isOwn) = FileName.blob(entry.name) else { continue }
        result.append(
          File(hash: hash, isOwn: isOwn, info: entry.info, path: directory + "/" + entry.name))
      }
      return result
    } catch { throw CairnError(error) }
  }

  /// Leaves one of a content's damaged files, under the name that nothing gets which is fetched: it
  /// is there until the right one has come, also after a crash. The other one goes into quarantine.
  fileprivate func keepApart(_ files: [File]) throws(CairnError) -> File? {
    guard var kept = files.first(where: { $0.isOwn }) ?? files.first else { return nil }
    for file in files where file.path != kept.path { _ = putAside(file) }
    let path = directory + "/" + FileName.blob(kept.hash, isOwn: true)
    if kept.path != path {
      do { try machine.disk.rename(kept.path, to: path) } catch { throw CairnError(error) }
      kept.path = path
    }
    return kept
  }

  /// Nothing has come: it gets the name again that it had, unless something is there.
  fileprivate func putBack(_ kept: File) {
    let path = directory + "/" + FileName.blob(kept.hash, isOwn: kept.isOwn)
    if kept.path == path { return }
    do throws(DiskError) {
      if try machine.disk.info(path) == nil { try machine.disk.rename(kept.path, to: path) }
    } catch {
      // The next try finds it under this name, too.
    }
  }
}
