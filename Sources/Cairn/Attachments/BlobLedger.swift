internal import CairnBytes
internal import CairnDisk
internal import CairnLog

/// Since when contents are in use by nothing. A hint that may get lost: then the grace begins anew.
///
///     "CAIRNUNU" · version u16 · floor u16 · zero u32 · time of the last look u64 ·
///     count varint · for each: SHA-256, 32 bytes · time u64 · XXH3-64 of everything before
struct BlobLedger: Equatable, Sendable {
  static let magic: [UInt8] = Array("CAIRNUNU".utf8)
  static let bytesMax = 64 << 20

  /// When it was last looked, 0 if never.
  var looked: Int64 = 0
  var since: [ContentHash: Int64] = [:]

  init() {}

  func encoded() -> [UInt8] {
    var out = SealedFile.begin(BlobLedger.magic)
    out.put(UInt64(bitPattern: looked))
    out.putVarint(since.count)
    for (hash, time) in since.sorted(by: { $0.key < $1.key }) {
      out += hash.bytes
      out.put(UInt64(bitPattern: time))
    }
    SealedFile.seal(&out)
    return out
  }

  init(_ bytes: [UInt8], path: String) throws(LogError) {
    var reader = try SealedFile.open(
      bytes, magic: BlobLedger.magic, least: 9, what: "a list of unused contents", path: path)
    do throws(DecodeError) {
      looked = Int64(bitPattern: try reader.u64())
      for _ in 0..<(try reader.count(minimumSize: 40)) {
        let place = try reader.skip(32).lowerBound
        since[ContentHash(bytes, at: place)] = Int64(bitPattern: try reader.u64())
      }
      guard reader.isAtEnd else { throw .malformed("bytes behind the last entry") }
    } catch { throw LogError(error, path, at: UInt64(reader.offset), "unused blobs") }
  }

  /// What is known; nothing if it is missing or damaged.
  static func read(_ home: BlobStore) -> BlobLedger {
    let path = home.directory + "/" + FileName.unusedBlobs
    do throws(LogError) {
      let disk = home.machine.disk
      guard let bytes = try DurableFile.read(path, limit: bytesMax, disk: disk) else {
        return BlobLedger()
      }
      return try BlobLedger(bytes, path: path)
    } catch { return BlobLedger() }
  }

  func write(_ home: BlobStore) throws(CairnError) {
    do throws(LogError) {
      try DurableFile.replace(
        directory: home.directory, name: FileName.unusedBlobs, bytes: encoded(),
        machine: home.machine, durable: false)
    } catch { throw CairnError(error) }
  }
}
