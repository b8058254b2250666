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
    var pinned: [ContentHash: Pin] = [:]
    var attached: UInt64 = 0
    /// The number of each content's last attaching, also when it is not pinned any more: one entry
    /// for each content that this process attached, as in `verified`.
    var lastAttach: [ContentHash: UInt64] = [:]
  }

  struct Pin: Sendable {
    var number: UInt64
    /// When it was attached: its grace counts from then.
    var time: Int64
  }

  /// Held while a content loses one of its two names, so that it never loses both.
  private let names = Lock(())
  /// The list of unused contents, see BlobStore+Ledger.
  let kept = Lock(KeptLedger())
  /// The object store that uses the datastore, and may need contents of it.
  let objectClaim = Lock(ObjectClaim.Memo())

  /// Contents are read and written in pieces of this size.
  static let chunkBytes = 256 << 10

  struct File: Sendable {
    var hash: ContentHash
    var isOwn: Bool
    var info: FileInfo
    var path: String

    /// What refers to it, if its length is right: `BlobReference.content`.
    var reference: BlobReference { BlobReference(length: info.size, hash: hash) }
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

  /// Whether every byte of a file is what its name says. Reads it once.
  func isRight(_ file: File) throws(CairnError) -> Bool {
    if isVerified(file) { return true }
    var found = SHA256()
    do throws(DiskError) {
      let handle = try machine.disk.open(file.path, .read)
      defer { handle.close() }
      while true {
        let bytes = try handle.read(at: found.count, count: BlobStore.chunkBytes)
        if bytes.isEmpty { break }
        found.update(bytes)
      }
    } catch { throw CairnError(error) }
    guard found.digest() == file.hash else { return false }
    noteVerified(file)
    return true
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
    guard isOwn else { return try place(path, reference, isOwn: false) }
    // First: from here on nobody takes it for unused.
    let (pin, before) = pin(reference.hash)
    do throws(CairnError) {
      try noteUsed([reference.hash])
      try place(path, reference, isOwn: true)
    } catch {
      state.withLock { state in
        if state.pinned[reference.hash]?.number == pin { state.pinned[reference.hash] = before }
      }
      throw error
    }
  }

  private func pin(_ hash: ContentHash) -> (number: UInt64, before: Pin?) {
    let now = machine.clock.now()
    return state.withLock { state in
      let before = state.pinned[hash]
      state.attached += 1
      state.pinned[hash] = Pin(number: state.attached, time: now)
      state.lastAttach[hash] = state.attached
      return (state.attached, before)
    }
  }

  private func place(
    _ path: String, _ reference: BlobReference, isOwn: Bool
  ) throws(CairnError) {
    let disk = machine.disk
    let target = directory + "/" + FileName.blob(reference.hash, isOwn: isOwn)
    do throws(DiskError) {
      try disk.rename(path, to: target)
      let info = try disk.info(target)
      // The bytes are those that were hashed on their way: nobody has to read them again.
      if let info {
        noteVerified(File(hash: reference.hash, isOwn: isOwn, info: info, path: target))
      }
      if isDurable { try disk.syncDirectory(directory) }
      // Not before: a power cut could keep the removal and forget the new name.
      if isOwn, let info { try removeOther(reference.hash, as: target, info) }
    } catch { throw CairnError(error) }
  }

  /// Removes the name that a content has besides the own one; if that is still the very file that
  /// was made durable: it may have become the other one meanwhile.
  private func removeOther(
    _ hash: ContentHash, as own: String, _ info: FileInfo
  ) throws(DiskError) {
    let other = directory + "/" + FileName.blob(hash, isOwn: false)
    try names.withLock { _ throws(DiskError) in
      guard try machine.disk.info(own) == info, try machine.disk.info(other) != nil else { return }
      try machine.disk.remove(other)
    }
  }

  /// It is in the folder under this device's name.
  func notePublished(_ file: File) throws(CairnError) {
    guard file.isOwn else { return }
    let target = directory + "/" + FileName.blob(file.hash, isOwn: false)
    do throws(DiskError) {
      try names.withLock { _ throws(DiskError) in
        try machine.disk.rename(file.path, to: target)
      }
    } catch {
      // Attached again, or removed, just now.
      if error.reason == .notFound { return }
      throw CairnError(error)
    }
    state.withLock { $0.verified[file.hash] = nil }
  }

  /// Removes a content that nothing refers to, unless it was attached again meanwhile. Returns
  /// whether it is gone.
  ///
  /// - Parameter lookedAt: What `attachments` was when somebody began to look at what refers to it.
  func remove(
    _ file: File, evenIfPinned: Bool = false, lookedAt: UInt64 = .max
  ) throws(CairnError) -> Bool {
    try state.withLock { state throws(CairnError) -> Bool in
      let isNewer = (state.lastAttach[file.hash] ?? 0) > lookedAt
      if !evenIfPinned, isNewer || state.pinned[file.hash] != nil { return false }
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
  func sweep() { machine.disk.sweepTemporaries(directory) }

  /// A part whose time is so far ahead, 30 days, is by another clock than the one that is now.
  private static let partLead: Int64 = 30 * 24 * 3600 * 1000

  /// Removes what came of contents that nothing refers to, and that nobody has gone on with for a
  /// while. Best effort: it is tried again.
  func sweepParts(keeping used: Set<ContentHash>, after life: Int64) {
    let now = machine.clock.now()
    do {
      for entry in try machine.disk.list(directory) where entry.info.kind == .file {
        guard let hash = FileName.blobPart(entry.name), !used.contains(hash) else { continue }
        let age = now.elapsed(since: min(entry.info.modified, now))
        // By a clock that was put back since, nobody has gone on with it either.
        let lead = max(entry.info.modified, now).elapsed(since: now)
        guard age >= life || lead > BlobStore.partLead else { continue }
        try machine.disk.remove(directory + "/" + entry.name)
      }
    } catch {
      // In nobody's way.
    }
  }

  // MARK: what is in use

  /// Attached a moment ago: no record may have it yet.
  var pinned: [ContentHash: Pin] { state.withLock { $0.pinned } }

  /// How often something was attached by this process.
  var attachments: UInt64 { state.withLock { $0.attached } }

  /// What was attached when that was `number` already, pinned or not: who looked at the records
  /// before does not know of it.
  func attached(after number: UInt64) -> Set<ContentHash> {
    state.withLock { state -> Set<ContentHash> in
      if state.attached == number { return [] }
      return Set(state.lastAttach.filter { $0.value > number }.keys)
    }
  }

  /// A record has some of those that were pinned: from now on that is what keeps them, unless they
  /// were attached once more since.
  func unpin(_ hashes: Set<ContentHash>, of pinned: [ContentHash: Pin]) {
    state.withLock { state in
      for (hash, pin) in pinned
      where hashes.contains(hash) && state.pinned[hash]?.number == pin.number {
        state.pinned[hash] = nil
      }
    }
  }

  /// The grace of those that are still pinned counts from now.
  func notePinsUsed(_ hashes: some Sequence<ContentHash>) {
    let now = machine.clock.now()
    state.withLock { state in
      if state.pinned.isEmpty { return }
      for hash in hashes { state.pinned[hash]?.time = now }
    }
  }

  /// Those that were attached so long ago that nobody sets them to anything any more, and when.
  func endPins(_ pinned: [ContentHash: Pin], after life: Int64) -> [ContentHash: Int64] {
    let now = machine.clock.now()
    let ended = pinned.filter { now.elapsed(since: min($0.value.time, now)) >= life }
    unpin(Set(ended.keys), of: pinned)
    return ended.mapValues(\.time)
  }
}

extension BlobReference {
  /// The same for all that refer to one content: some say more than this version knows.
  var content: BlobReference { BlobReference(length: length, hash: hash) }
}
