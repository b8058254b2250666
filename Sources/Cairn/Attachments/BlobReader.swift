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

  /// The next piece; nil at the end. An empty content has none.
  func next() throws(CairnError) -> [UInt8]? {
    try state.withLock { state throws(CairnError) -> [UInt8]? in
      if !state.isChecked {
        // One piece is checked in one go below.
        if reference.length > UInt64(BlobStore.chunkBytes), !home.isVerified(file) { try check() }
        state.isChecked = true
        if reference.length == 0, SHA256().digest() != reference.hash { throw home.putAside(file) }
      }
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
    if !home.isVerified(file) { try check() }
  }

  private func check() throws(CairnError) {
    var hash = SHA256()
    while true {
      let bytes = try piece(at: hash.count)
      if bytes.isEmpty { break }
      hash.update(bytes)
      if hash.count > reference.length { break }
    }
    guard hash.count == reference.length, hash.digest() == reference.hash else {
      throw home.putAside(file)
    }
    home.noteVerified(file)
  }
}
