internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// Contents that are damaged on this device, whether or not anything refers to them.
extension Datastore {
  /// Reads every content that is here to the last byte, and puts those that are damaged into
  /// quarantine. Returns them, with the lengths that they had, and those that can't be read, which
  /// stay, with the reason.
  package func putAsideDamaged()
    throws(CairnError) -> [(id: AttachmentID, failure: CairnError?)]
  {
    try checkOpen()
    var result: [(id: AttachmentID, failure: CairnError?)] = []
    for file in try blobs.files() {
      let id = AttachmentID(file.reference)
      do throws(CairnError) {
        if try blobs.isRight(file) { continue }
        _ = blobs.putAside(file)
        result.append((id, nil))
      } catch {
        // Gone since it was listed.
        if error.code == .notFound { continue }
        result.append((id, error))
      }
    }
    return result
  }

  /// Fetches a content that was damaged here: its hash is known, and its length may have been
  /// another one. Returns what has come; nil if nothing has to, if there is no folder, or if that
  /// does not have it.
  package func fetchAgain(_ damaged: AttachmentID) async throws(CairnError) -> AttachmentID? {
    try checkOpen()
    guard let exchange = exchanger?.blobs else { return nil }
    let hash = damaged.reference.hash
    let listing = try await exchange.list()
    var failure: CairnError?
    for length in Set((listing[hash] ?? []).map(\.entry.size)).sorted() {
      let reference = BlobReference(length: length, hash: hash)
      // Under its other name it was whole.
      if try blobs.find(reference) != nil { return nil }
      do throws(CairnError) {
        try await exchange.fetch(reference)
        return AttachmentID(reference)
      } catch { failure = error }
    }
    if let failure { throw failure }
    return nil
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
}
