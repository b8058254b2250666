public import Cairn
internal import CairnBytes
package import CairnDisk
internal import Synchronization

/// A cdb file, to be read: any bytes as keys, any bytes as values, found by two looks at the file.
///
/// A key may have several values; ``value(for:)`` is the first, ``values(for:)`` are all. The file
/// is read as it is asked for and what was read is kept, up to a budget, so that values can be
/// looked at without copying them (``withValue(for:_:)``). It stays the file that was opened when
/// another one takes its name, as all writers of cdb files do it.
///
/// Nothing in a file is trusted: whatever its bytes are, calls end, with a value or with an error.
/// A file that is cut short under the reader is an error as well. There are no checksums in the
/// format, though, so bytes that were changed are not always noticed. May be used from any thread.
public final class CDBFile: Sendable {
  /// The path by which it was opened.
  public let path: String
  let layout: CDBLayout
  let bytes: FileBytes
  private let closed = Atomic<Bool>(false)
  private let tallies = Lock<CDBTally?>(nil)

  /// How much of a file is kept in memory if nobody says otherwise: 64 MiB.
  public static let defaultCacheBytes = 64 << 20

  /// Bytes of a key or value that are read at once. In a file with holes a record may be as long
  /// as it likes, and where there is no room for it the process would end.
  static let largestRead = Int(Int32.max)

  /// Opens a file. Reads its first 16 KiB.
  ///
  /// - Parameters:
  ///   - path: a regular file; links are not followed.
  ///   - format: nil finds it out.
  ///   - cacheBytes: how much of the file is kept in memory at most, as far as it is read; beyond
  ///     that, each look-up reads anew. A file that fits is read as a whole once a MiB of it, and a
  ///     sixteenth, was asked for.
  /// - Throws: `notFound`, `corrupt` if it is no such file, and what the disk says.
  public convenience init(
    _ path: String, format: CDBFormat? = nil, cacheBytes: Int = CDBFile.defaultCacheBytes
  ) throws(CairnError) {
    try self.init(disk: Machine.real.disk, path: path, format: format, cacheBytes: cacheBytes)
  }

  /// The same on any disk.
  package convenience init(
    disk: any Disk, path: String, format: CDBFormat? = nil,
    cacheBytes: Int = CDBFile.defaultCacheBytes
  ) throws(CairnError) {
    let file: any DiskFile
    do { file = try disk.open(path, .read) } catch { throw CairnError(error) }
    try self.init(file: file, path: path, format: format, cacheBytes: cacheBytes)
  }

  /// Takes over an open file, which may still have another name.
  package init(
    file: any DiskFile, path: String, format: CDBFormat?, cacheBytes: Int
  ) throws(CairnError) {
    file.adviseRandom()
    let bytes: FileBytes
    let header: [UInt8]
    do {
      bytes = try FileBytes(file, budget: max(0, cacheBytes))
      header = try bytes.copy(0, Int(min(bytes.count, 4096)))
    } catch { throw .disk(error, path) }
    self.path = path
    self.bytes = bytes
    layout = try CDBLayout.read(header, format: format, length: bytes.count, path: path)
  }

  /// The file's format.
  public var format: CDBFormat { layout.format }

  /// The file's length in bytes, when it was opened.
  public var size: UInt64 { bytes.count }

  /// Closes the file; calls that are under way end as if it were open. Closing twice is fine.
  public func close() {
    closed.store(true, ordering: .releasing)
    bytes.file.close()
  }

  @inline(__always)
  var isOpen: Bool { !closed.load(ordering: .acquiring) }

  func checkOpen() throws(CairnError) {
    if isOpen { return }
    throw CairnError(.closed, "\"\(path)\" was closed; open it anew", file: path)
  }

  // MARK: values

  /// The first value of a key; nil if there is none.
  public func value(for key: [UInt8]) throws(CairnError) -> [UInt8]? {
    try withValue(for: key.span) { [UInt8](copying: $0) }
  }

  /// All values of a key, in the order in which they were added.
  public func values(for key: [UInt8]) throws(CairnError) -> [[UInt8]] {
    var values: [[UInt8]] = []
    var left = size
    for record in try findAll(key.span) {
      // Records do not lie over one another: together they are no longer than the file.
      let length = record.end - record.position
      guard length <= left else {
        throw .damaged(path, record.position, "records of one key that lie over one another")
      }
      left -= length
      values.append(try withValue(of: record) { [UInt8](copying: $0) })
    }
    return values
  }

  /// Whether there is a value for a key.
  public func contains(_ key: [UInt8]) throws(CairnError) -> Bool { try find(key.span) != nil }

  /// A walk over all records, in the order in which they were added.
  public func records() throws(CairnError) -> CDBCursor {
    try checkOpen()
    return CDBCursor(self)
  }

  /// Counts records and keys, once.
  func tally() throws(CairnError) -> CDBTally {
    if let known = tallies.withLock({ $0 }) { return known }
    let found = try CDBTally(of: self)
    tallies.withLock { $0 = found }
    return found
  }
}
