internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// Reads one content from the disk, piece by piece. Nothing is given out before the whole was found
/// to be right; and what is given out is checked once more on the way.
final class BlobReader: Sendable {
  private let home: BlobStore
  private let file: BlobStore.File
  private let reference: BlobReference
  private let handle: any DiskFile
  private let state = Lock(State())

  private struct State {
    var hash = SHA256()
    /// Of the look at all of it, as far as that has come.
    var check = SHA256()
    var isChecked = false
  }

  init(
    _ home: BlobStore, _ file: BlobStore.File, _ reference: BlobReference
  ) throws(CairnError) {
    self.home = home
    self.file = file
    self.reference = reference
    do { handle = try home.machine.disk.open(file.path, .read) } catch { throw CairnError(error) }
  }

  deinit { handle.close() }

  /// Checks one piece more; false when there is nothing left to check before `next` gives any out.
  /// For who must be able to stop in between: `next` checks all that is left.
  func checkNext() throws(CairnError) -> Bool {
    try state.withLock { state throws(CairnError) -> Bool in try checkNext(&state) }
  }

  /// The next piece; nil at the end. An empty content has none.
  func next() throws(CairnError) -> [UInt8]? {
    try state.withLock { state throws(CairnError) -> [UInt8]? in
      while try checkNext(&state) {}
      if reference.length == 0, SHA256().digest() != reference.hash { throw home.putAside(file) }
      let place = state.hash.count
      if place >= reference.length { return nil }
      let bytes = try piece(at: place)
      state.hash.update(bytes)
      // Before the last piece is given out: something may have happened to it meanwhile.
      if bytes.isEmpty || state.hash.count > reference.length
        || state.hash.count == reference.length && state.hash.digest() != reference.hash
      {
        throw home.putAside(file)
      }
      if state.hash.count == reference.length { home.noteVerified(file) }
      return bytes
    }
  }

  private func piece(at place: UInt64) throws(CairnError) -> [UInt8] {
    try part(at: place, count: BlobStore.chunkBytes)
  }

  /// Bytes as they are on the disk, fewer at its end.
  func part(at place: UInt64, count: Int) throws(CairnError) -> [UInt8] {
    do { return try handle.read(at: place, count: count) } catch { throw CairnError(error) }
  }

  /// What to throw if they are wrong.
  func putAside() -> CairnError { home.putAside(file) }

  /// Looks at all of it, unless that was done before and nothing has touched it since.
  func verify() throws(CairnError) {
    if home.isVerified(file) { return }
    var hash = SHA256()
    while try check(&hash) {}
  }

  private func checkNext(_ state: inout State) throws(CairnError) -> Bool {
    if state.isChecked { return false }
    // One piece is checked in one go by `next`.
    if reference.length > UInt64(BlobStore.chunkBytes), !home.isVerified(file),
      try check(&state.check)
    {
      return true
    }
    state.isChecked = true
    return false
  }

  /// Takes a look at the piece behind those that were looked at; false if it was the last, and all
  /// of them are right.
  private func check(_ hash: inout SHA256) throws(CairnError) -> Bool {
    let bytes = try piece(at: hash.count)
    hash.update(bytes)
    if !bytes.isEmpty, hash.count <= reference.length { return true }
    guard hash.count == reference.length, hash.digest() == reference.hash else {
      throw home.putAside(file)
    }
    home.noteVerified(file)
    return false
  }
}
