internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// A content on its way into a folder. All of it was found to be right before the first part is
/// given out; and what is given out is checked once more, as long as it is asked for in order.
final class BlobSource: FolderSource {
  private let reader: BlobReader
  private let reference: BlobReference
  private let state = Lock(State())

  private struct State {
    var hash = SHA256()
    var failure: CairnError?
  }

  /// Throws `corrupt` for one that is damaged, and puts it aside.
  init(
    _ home: BlobStore, _ file: BlobStore.File, _ reference: BlobReference
  ) throws(CairnError) {
    reader = try BlobReader(home, file, reference)
    self.reference = reference
    try reader.verify()
  }

  var size: UInt64 { reference.length }

  /// What went wrong here, and not with the folder.
  var failure: CairnError? { state.withLock { $0.failure } }

  func read(_ range: Range<UInt64>) throws(CairnError) -> [UInt8] {
    try state.withLock { state throws(CairnError) -> [UInt8] in
      do throws(CairnError) { return try read(range, &state) } catch {
        state.failure = error
        // Not the folder's fault.
        throw CairnError(.cancelled, error.message)
      }
    }
  }

  private func read(_ range: Range<UInt64>, _ state: inout State) throws(CairnError) -> [UInt8] {
    let count = Int(range.upperBound - range.lowerBound)
    let bytes = try reader.part(at: range.lowerBound, count: count)
    guard bytes.count == count else { throw reader.putAside() }
    // Sent again from its beginning.
    if range.lowerBound == 0 { state.hash = SHA256() }
    guard range.lowerBound == state.hash.count else { return bytes }
    state.hash.update(bytes)
    // Before the last part is given out: something may have happened to it meanwhile.
    if state.hash.count == reference.length, state.hash.digest() != reference.hash {
      throw reader.putAside()
    }
    return bytes
  }
}
