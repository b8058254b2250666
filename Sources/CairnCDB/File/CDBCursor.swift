public import Cairn
internal import CairnDisk
internal import Synchronization

/// Walks over the records of a ``CDBFile``, in the order in which they were added. May be used from
/// any thread; what one takes, no other gets.
///
/// It shows the file as it was opened, and reads it in parts of 256 KiB that are not kept. A key
/// with several values comes several times.
public final class CDBCursor: Sendable {
  private let file: CDBFile
  private let walk: Lock<CDBWalk>

  init(_ file: CDBFile) {
    self.file = file
    walk = Lock(CDBWalk(file))
  }

  /// The next record, nil when there are no more.
  ///
  /// - Throws: `corrupt`, `closed`, and what the disk says; the next call tries again.
  public func next() throws(CairnError) -> (key: [UInt8], value: [UInt8])? {
    try file.checkOpen()
    return try walk.withLock { walk throws(CairnError) in
      var ahead = walk
      guard let record = try ahead.next() else { return nil }
      let key = try ahead.copy(record.keyStart, record.keyLength)
      let value = try ahead.copy(record.valueStart, record.valueLength)
      walk = ahead
      return (key, value)
    }
  }
}
