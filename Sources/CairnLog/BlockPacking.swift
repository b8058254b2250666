import CairnBytes
import CairnDisk
import Synchronization

/// A batch of blocks on its way to bytes and through LZ4 on another thread.
final class BlockPacking: Sendable {
  private let blocks: [@Sendable () -> [UInt8]]
  private let first: Int
  private let packed = Lock<[[UInt8]]>([])
  private let thread = Lock<BackgroundThread?>(nil)

  /// Starts packing `blocks`, the first of which has the number `first`.
  init(_ blocks: [@Sendable () -> [UInt8]], first: Int) {
    self.blocks = blocks
    self.first = first
    let started = BackgroundThread { self.run() }
    thread.withLock { $0 = started }
  }

  private func run() {
    var result: [[UInt8]] = []
    result.reserveCapacity(blocks.count)
    for (index, bytes) in blocks.enumerated() {
      result.append(BlockPacking.pack(bytes(), number: first + index))
    }
    packed.withLock { $0 = result }
  }

  /// The blocks with their headers, in order. Waits for the thread; without one (the system had
  /// none to give) it packs here.
  func result() -> [[UInt8]] {
    let started = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    if let started { started.join() } else { run() }
    return packed.withLock { $0 }
  }

  /// A block as it lies in the file: lengths, checksum, stored bytes.
  static func pack(_ raw: [UInt8], number: Int) -> [UInt8] {
    let size = SnapshotHeader.blockHeaderSize
    var out = [UInt8](repeating: 0, count: size)
    if !LZ4.pack(raw, 0..<raw.count, into: &out) { out.append(contentsOf: raw) }
    let stored = size..<out.count
    out.set(UInt32(clamping: raw.count), at: 0)
    out.set(UInt32(clamping: stored.count), at: 4)
    let seed = SnapshotHeader.blockSeed(number: number, rawLength: raw.count)
    out.set(XXH3.hash64(out, stored, seed: seed), at: 8)
    return out
  }
}
