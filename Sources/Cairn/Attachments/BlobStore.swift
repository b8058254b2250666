internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// The contents of attachments on this device: a file each, named by its hash, in `blobs`. A file
/// has its name only after its length and hash were found to be right.
final class BlobStore: Sendable {
  let directory: String
  /// That of the datastore.
  private let store: String
  let machine: Machine
  /// What is attached survives a power cut, as commits do.
  let isDurable: Bool
  private let limit: UInt64
  private let quarantine: Quarantine
  private let state = Lock(State())

  private struct State {
    var hasDirectory = false
    /// Files of which every byte was checked by this process.
    var verified: [ContentHash: FileInfo] = [:]
    /// Attached by this process, and in no record yet when that was last looked at. The number
    /// tells one attaching of a content from the next.
    var pinned: [ContentHash: UInt64] = [:]
    var attached: UInt64 = 0
  }

  /// Contents are read and written in pieces of this size.
  static let chunkBytes = 256 << 10

  struct File: Sendable {
    var hash: ContentHash
    var isOwn: Bool
    var info: FileInfo
    var path: String
  }

  init(store directory: String, machine: Machine, isDurable: Bool, limit: Int) {
    store = directory
    self.directory = directory + "/" + FileName.blobs
    self.machine = machine
    self.isDurable = isDurable
    self.limit = UInt64(max(0, limit))
    quarantine = Quarantine(directory: directory + "/" + FileName.quarantine, machine: machine)
  }

  func checkLimit(_ length: UInt64) throws(CairnError) {
    guard length <= limit else {
      throw CairnError(
        .sizeLimit, "an attachment has at most \(limit) bytes; Limits.attachmentBytes raises that")
    }
  }

  func isAllowed(_ reference: BlobReference) -> Bool { reference.length <= limit }

  // MARK: what is here

  /// Whether there is anything to look for: the directory comes with the first content, and with
  /// the first reference that is seen.
  var isInUse: Bool {
    // One that can't be looked at is looked at, and what is wrong with it is said then.
    do { return try machine.disk.info(directory) != nil } catch { return true }
  }

  /// Makes the directory, durably. Not for a datastore that is gone meanwhile.
  func begin() throws(CairnError) {
    if state.withLock({ $0.hasDirectory }) { return }
    do throws(DiskError) {
      if try machine.disk.info(store) == nil {
        throw DiskError(reason: .notFound, operation: "attach in", path: store)
      }
      // Also if it is there: whoever made it may have been killed before it was durable.
      try machine.disk.createDirectory(directory)
    } catch { throw CairnError(error) }
    state.withLock { $0.hasDirectory = true }
  }

  /// All contents that are here, sorted by hash. One listing.
  func list() throws(CairnError) -> [File] {
    do throws(DiskError) {
      guard try machine.disk.info(directory) != nil else { return [] }
      var files: [ContentHash: File] = [:]
      for entry in try machine.disk.list(directory) where entry.info.kind == .file {
        guard let (hash, isOwn) = FileName.blob(entry.name) else { continue }
        // A crash may have left both; the own one says more.
        if files[hash]?.isOwn == true { continue }
        files[hash] = File(
          hash: hash, isOwn: isOwn, info: entry.info, path: directory + "/" + entry.name)
      }
      return files.values.sorted { $0.hash < $1.hash }
    } catch { throw CairnError(error) }
  }

  /// A content, if it is here with the length that it should have.
  func find(_ reference: BlobReference) throws(CairnError) -> File? {
    for isOwn in [true, false] {
      let path = directory + "/" + FileName.blob(reference.hash, isOwn: isOwn)
      let info: FileInfo?
      do { info = try machine.disk.info(path) } catch { throw CairnError(error) }
      if let info, info.kind == .file, info.size == reference.length {
        return File(hash: reference.hash, isOwn: isOwn, info: info, path: path)
      }
    }
    return nil
  }

  // MARK: reading

  func isVerified(_ file: File) -> Bool {
    state.withLock { $0.verified[file.hash] == file.info }
  }

  func noteVerified(_ file: File) {
    state.withLock { $0.verified[file.hash] = file.info }
  }

  /// Puts a damaged file aside; returns what to throw.
  func putAside(_ file: File) -> CairnError {
    state.withLock { $0.verified[file.hash] = nil }
    let name = FileName.blob(file.hash, isOwn: file.isOwn)
    // Not what has taken its place meanwhile.
    if isThere(file) {
      quarantine.take(file.path, name, reason: "its bytes are not those that its name says")
    }
    return CairnError(
      .corrupt,
      "\(file.path) is damaged: its bytes are not those that its name says. It is in quarantine "
        + "now; fetch the attachment again", file: file.path)
  }

  private func isThere(_ file: File) -> Bool {
    do throws(DiskError) {
      guard let info = try machine.disk.info(file.path) else { return false }
      // Some file systems number their files anew.
      return info.inode == file.info.inode
        || (info.size, info.modified) == (file.info.size, file.info.modified)
    } catch { return true }
  }

  // MARK: what comes and goes

  /// Gives a file that is whole and right its name.
  func adopt(_ path: String, _ reference: BlobReference, isOwn: Bool) throws(CairnError) {
    let disk = machine.disk
    let target = directory + "/" + FileName.blob(reference.hash, isOwn: isOwn)
    // First: from here on nobody takes it for unused.
    if isOwn {
      state.withLock { state in
        state.attached += 1
        state.pinned[reference.hash] = state.attached
      }
    }
    do throws(DiskError) {
      try disk.rename(path, to: target)
      // The bytes are those that were hashed on their way: nobody has to read them again.
      if let info = try disk.info(target) {
        let file = File(hash: reference.hash, isOwn: isOwn, info: info, path: target)
        noteVerified(file)
      }
      if isDurable { try disk.syncDirectory(directory) }
      // Not before: a power cut could keep the removal and forget the new name.
      let other = directory + "/" + FileName.blob(reference.hash, isOwn: false)
      if isOwn, try disk.info(other) != nil { try disk.remove(other) }
    } catch { throw CairnError(error) }
  }

  /// It is in the folder under this device's name.
  func notePublished(_ file: File) throws(CairnError) {
    guard file.isOwn else { return }
    let target = directory + "/" + FileName.blob(file.hash, isOwn: false)
    do throws(DiskError) { try machine.disk.rename(file.path, to: target) } catch {
      // Attached again, or removed, just now.
      if error.reason == .notFound { return }
      throw CairnError(error)
    }
    state.withLock { $0.verified[file.hash] = nil }
  }

  /// Removes a content that nothing refers to, unless it was attached again meanwhile. Returns
  /// whether it is gone.
  func remove(_ file: File, evenIfPinned: Bool = false) throws(CairnError) -> Bool {
    try state.withLock { state throws(CairnError) -> Bool in
      if !evenIfPinned, state.pinned[file.hash] != nil { return false }
      state.verified[file.hash] = nil
      do throws(DiskError) { try machine.disk.remove(file.path) } catch {
        if error.reason != .notFound { throw CairnError(error) }
      }
      return true
    }
  }

  /// Removes what nobody needs. Best effort: it is in nobody's way.
  func discard(_ path: String) { do { try machine.disk.remove(path) } catch {} }

  /// Removes what crashes left half written. Not while anybody writes here. What was fetched of a
  /// content is gone on with.
  func sweep() {
    do {
      guard try machine.disk.info(directory) != nil else { return }
      for entry in try machine.disk.list(directory) where FileName.isTemporary(entry.name) {
        try machine.disk.remove(directory + "/" + entry.name)
      }
    } catch {
      // In nobody's way.
    }
  }

  // MARK: what is in use

  /// Attached a moment ago: no record may have it yet.
  var pinned: [ContentHash: UInt64] { state.withLock { $0.pinned } }

  /// A record has some of those that were pinned: from now on that is what keeps them, unless they
  /// were attached once more since.
  func unpin(_ hashes: Set<ContentHash>, of pinned: [ContentHash: UInt64]) {
    state.withLock { state in
      for (hash, number) in pinned where hashes.contains(hash) && state.pinned[hash] == number {
        state.pinned[hash] = nil
      }
    }
  }
}
