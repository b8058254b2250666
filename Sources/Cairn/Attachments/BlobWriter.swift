internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// A content that is being attached: written under a temporary name, hashed on the way, and given
/// its name when it is whole.
final class BlobWriter: Sendable {
  private let home: BlobStore
  private let path: String
  private let file: any DiskFile
  private let state = Lock(State())

  private struct State {
    var hash = SHA256()
    var isOver = false
    /// Why nothing can be attached any more, even if whoever writes goes on.
    var failure: CairnError?
  }

  init(_ home: BlobStore) throws(CairnError) {
    self.home = home
    path = home.directory + "/" + FileName.temporary(home.machine.random.next())
    try home.begin()
    do { file = try home.machine.disk.open(path, .create) } catch { throw CairnError(error) }
  }

  deinit { cancel() }

  var length: UInt64 { state.withLock { $0.hash.count } }

  func write(_ bytes: [UInt8]) throws(CairnError) {
    try state.withLock { state throws(CairnError) in
      if state.isOver { throw BlobWriter.over }
      if let failure = state.failure { throw failure }
      do throws(CairnError) { try put(bytes, at: state.hash.count) } catch {
        state.failure = error
        throw error
      }
      state.hash.update(bytes)
    }
  }

  private func put(_ bytes: [UInt8], at length: UInt64) throws(CairnError) {
    try home.checkLimit(length + UInt64(bytes.count))
    do { try file.write(bytes.span, at: length) } catch { throw CairnError(error) }
  }

  private static let over = CairnError(
    .invalidOperation, "the attachment is whole already; begin another one")

  /// Gives the content its name, durably if commits are.
  func finish() throws(CairnError) -> BlobReference {
    let reference = try state.withLock { state throws(CairnError) -> BlobReference in
      if state.isOver { throw BlobWriter.over }
      // What the file has is not what was hashed: the end of `attach` cancels it.
      if let failure = state.failure { throw failure }
      state.isOver = true
      return BlobReference(length: state.hash.count, hash: state.hash.digest())
    }
    do throws(DiskError) {
      defer { file.close() }
      if home.isDurable { try file.sync() }
    } catch {
      home.discard(path)
      throw CairnError(error)
    }
    do throws(CairnError) { try home.adopt(path, reference, isOwn: true) } catch {
      home.discard(path)
      throw error
    }
    return reference
  }

  /// Nothing is left of it. Does nothing after the end.
  func cancel() {
    let wasOver = state.withLock { state in
      defer { state.isOver = true }
      return state.isOver
    }
    if wasOver { return }
    file.close()
    home.discard(path)
  }
}
