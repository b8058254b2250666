internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// A content that is being fetched: what has come so far stays when the fetch is interrupted, and
/// is gone on with. It gets its name only if length and hash are right.
final class BlobPart: Sendable {
  enum Verdict: Equatable, Sendable {
    case whole
    /// There is more to come.
    case short
    /// The folder does not give this file.
    case unread(CairnError)
    /// It is something else; nothing of it is kept.
    case damaged
  }

  private let home: BlobStore
  private let reference: BlobReference
  private let path: String
  private let file: any DiskFile
  private let hash: Lock<SHA256>

  init(_ home: BlobStore, _ reference: BlobReference) throws(CairnError) {
    self.home = home
    self.reference = reference
    path = home.directory + "/" + FileName.blobPart(reference.hash)
    let disk = home.machine.disk
    try home.begin()
    do throws(DiskError) {
      let isThere = try disk.info(path) != nil
      file = try disk.open(path, isThere ? .readWrite : .create)
      if isThere, try file.size() > reference.length { try file.truncate(to: 0) }
    } catch { throw CairnError(error) }
    var known = SHA256()
    do throws(DiskError) {
      while true {
        let bytes = try file.read(at: known.count, count: BlobStore.chunkBytes)
        if bytes.isEmpty { break }
        known.update(bytes)
      }
    } catch {
      file.close()
      // What the disk goes on not to give would keep the content away for ever. Not if it is only
      // memory that is short (ENOMEM).
      if case .io(let code) = error.reason, code != 12 { home.discard(path) }
      throw CairnError(error)
    }
    hash = Lock(known)
  }

  deinit { file.close() }

  /// Bytes that are here.
  var count: UInt64 { hash.withLock { $0.count } }

  /// Adds what comes next.
  func append(_ bytes: [UInt8]) throws(CairnError) {
    try hash.withLock { hash throws(CairnError) in
      guard hash.count + UInt64(bytes.count) <= reference.length else {
        throw CairnError(
          .corrupt, "the file is longer than the \(reference.length) bytes of the content")
      }
      do throws(DiskError) { try file.write(bytes.span, at: hash.count) } catch {
        throw CairnError(error)
      }
      hash.update(bytes)
    }
  }

  /// Gives it its name if it is whole and right.
  func finish() throws(CairnError) -> Verdict {
    let (count, digest) = hash.withLock { ($0.count, $0.digest()) }
    if count < reference.length { return .short }
    guard digest == reference.hash else {
      forget()
      return .damaged
    }
    if home.isDurable {
      do throws(DiskError) { try file.sync() } catch {
        // What the disk holds of it is unknown now.
        forget()
        throw CairnError(error)
      }
    }
    file.close()
    try home.adopt(path, reference, isOwn: false)
    return .whole
  }

  /// Nothing that has come is worth going on with.
  func forget() {
    // A file that can't be removed must not be gone on with either.
    do { try file.truncate(to: 0) } catch {}
    file.close()
    home.discard(path)
  }
}
