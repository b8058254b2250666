import CairnBytes
import CairnLog

/// A snapshot's bytes with every checksum made right.
package enum SnapshotRepair {
  /// Header, pages, the blocks that the directory names, the description.
  package static func run(_ bytes: inout [UInt8]) {
    Checksums.sum(&bytes, to: 120)
    let length = UInt64(bytes.count)
    guard let header = try? SnapshotHeader(bytes, fileLength: length, path: "") else { return }
    var starts: [UInt64] = []
    for (number, page) in stride(
      from: Int(header.directoryOffset), to: Int(header.indexOffset), by: 4096
    ).enumerated() {
      for slot in 0..<SnapshotHeader.offsetsPerPage where starts.count < Int(header.blockCount) {
        starts.append(bytes.u64(at: page + 8 + slot * 8))
      }
      bytes.set(XXH3.hash64(bytes, (page + 8)..<(page + 4096), seed: UInt64(number)), at: page)
    }
    for (number, page) in stride(
      from: Int(header.indexOffset), to: Int(header.descriptionOffset), by: 4096
    ).enumerated() {
      bytes.set(XXH3.hash64(bytes, (page + 8)..<(page + 4096), seed: UInt64(number)), at: page)
    }
    starts.append(header.directoryOffset)
    for number in starts.indices.dropLast() {
      let (start, end) = (starts[number], starts[number + 1])
      guard start >= 128, start < end, end <= header.directoryOffset, end - start > 16 else {
        continue
      }
      let stored = (Int(start) + 16)..<Int(end)
      bytes.set(UInt32(stored.count), at: Int(start) + 4)
      let seed = SnapshotHeader.blockSeed(
        number: number, rawLength: Int(bytes.u32(at: Int(start))))
      bytes.set(XXH3.hash64(bytes, stored, seed: seed), at: Int(start) + 8)
    }
    let description = Int(header.descriptionOffset)
    let size = Int(header.descriptionLength)
    bytes.set(
      XXH3.hash64(bytes, description..<(description + size), seed: UInt64(size)),
      at: description + size)
  }
}
