internal import CairnBytes
internal import CairnDisk
package import CairnLog
internal import CairnMerge

/// Since when contents are in use by nothing, and how often others were missed in the folder. A
/// hint that may get lost: then the grace begins anew, and so does the counting.
///
///     "CAIRNUNU" · version u16 · floor u16 · zero u32 · time of the last look u64 ·
///     count varint · for each: SHA-256, 32 bytes · unused since u64 · known since u64, 0 if not ·
///     version vector · count varint · for each: SHA-256, 32 bytes · listings without it varint ·
///     XXH3-64 of everything before
package struct BlobLedger: Equatable, Sendable {
  package static let magic: [UInt8] = Array("CAIRNUNU".utf8)
  static let bytesMax = 64 << 20

  /// When it was last looked, 0 if never.
  var looked: Int64 = 0
  var unused: [ContentHash: Entry] = [:]
  /// Contents that are here and that the folder lacks: how many listings.
  var lost: [ContentHash: Int] = [:]

  package struct Entry: Equatable, Sendable {
    /// When it was first found to be in use by nothing.
    var since: Int64
    /// Since when all devices have known that, in milliseconds.
    var known: Int64?
    /// What was known here when it was first found so: what others have to know, too.
    var vector = VersionVector()
  }

  init() {}

  package func encoded() -> [UInt8] {
    var out = SealedFile.begin(BlobLedger.magic)
    out.put(UInt64(bitPattern: looked))
    out.putVarint(unused.count)
    for (hash, entry) in unused.sorted(by: { $0.key < $1.key }) {
      out += hash.bytes
      out.put(UInt64(bitPattern: entry.since))
      out.put(UInt64(bitPattern: entry.known ?? 0))
      out.put(entry.vector)
    }
    out.putVarint(lost.count)
    for (hash, count) in lost.sorted(by: { $0.key < $1.key }) {
      out += hash.bytes
      out.putVarint(max(0, count))
    }
    SealedFile.seal(&out)
    return out
  }

  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    var reader = try SealedFile.open(
      bytes, magic: BlobLedger.magic, least: 10, what: "a list of unused contents", path: path)
    do throws(DecodeError) {
      looked = Int64(bitPattern: try reader.u64())
      for _ in 0..<(try reader.count(minimumSize: 49)) {
        let hash = ContentHash(bytes, at: try reader.skip(32).lowerBound)
        var entry = Entry(since: Int64(bitPattern: try reader.u64()))
        let known = Int64(bitPattern: try reader.u64())
        entry.known = known == 0 ? nil : known
        entry.vector = try reader.vector()
        unused[hash] = entry
      }
      for _ in 0..<(try reader.count(minimumSize: 33)) {
        let hash = ContentHash(bytes, at: try reader.skip(32).lowerBound)
        lost[hash] = Int(clamping: try reader.varint())
      }
      guard reader.isAtEnd else { throw .malformed("bytes behind the last entry") }
      let isPast = unused.values.contains { $0.since < 0 || ($0.known ?? 0) < 0 }
      guard looked >= 0, !isPast else { throw .malformed("a time before 1970") }
    } catch { throw LogError(error, path, at: UInt64(reader.offset), "unused blobs") }
  }

  /// What is known; nothing if it is missing or damaged. Throws what the disk says of it.
  static func read(_ home: BlobStore) throws(CairnError) -> BlobLedger {
    let path = home.directory + "/" + FileName.unusedBlobs
    do throws(LogError) {
      let disk = home.machine.disk
      guard let bytes = try DurableFile.read(path, limit: bytesMax, disk: disk) else {
        return BlobLedger()
      }
      return try BlobLedger(bytes, path: path)
    } catch {
      if case .disk(let disk) = error.reason { throw CairnError(disk) }
      return BlobLedger()
    }
  }

  /// Whether it says of something that another says is unused that it is not, or not for so long.
  func isLater(than other: BlobLedger) -> Bool {
    other.unused.contains { hash, entry in
      guard let own = unused[hash] else { return true }
      return own.since > entry.since || own.known ?? .max > entry.known ?? .max
    }
  }

  func write(_ home: BlobStore, isDurable: Bool) throws(CairnError) {
    do throws(LogError) {
      try DurableFile.replace(
        directory: home.directory, name: FileName.unusedBlobs, bytes: encoded(),
        machine: home.machine, durable: isDurable)
    } catch { throw CairnError(error) }
  }
}
