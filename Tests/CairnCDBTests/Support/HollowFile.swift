import CairnDisk
import Synchronization

/// A file that is nearly all hole: some bytes here and there, zeros in between, as long as it says.
final class HollowFile: DiskFile {
  let path = "hollow"
  private let length: UInt64
  private let parts: [UInt64: [UInt8]]
  /// The most that was asked for at once.
  private let most = Mutex(0)

  /// Of what is longer nothing is given: it would be memory that nobody has.
  static let readMost = 64 << 20

  var longestRead: Int { most.withLock { $0 } }

  init(length: UInt64, parts: [UInt64: [UInt8]]) {
    (self.length, self.parts) = (length, parts)
  }

  func size() -> UInt64 { length }

  func read(at offset: UInt64, count: Int) throws(DiskError) -> [UInt8] {
    most.withLock { $0 = max($0, count) }
    guard count <= Self.readMost else {
      throw DiskError(errno: 12, operation: "read", path: path)
    }
    let end = min(length, offset + UInt64(count))
    guard offset < end else { return [] }
    var bytes = [UInt8](repeating: 0, count: Int(end - offset))
    for (start, part) in parts {
      for (index, byte) in part.enumerated() {
        let place = start + UInt64(index)
        if place >= offset, place < end { bytes[Int(place - offset)] = byte }
      }
    }
    return bytes
  }

  func write(_ bytes: Span<UInt8>, at offset: UInt64) {}
  func sync() {}
  func preallocate(to length: UInt64) {}
  func truncate(to length: UInt64) {}
  func adviseRandom() {}
  func close() {}
}
