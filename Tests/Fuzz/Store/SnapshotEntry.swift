import CairnBytes
import CairnFuzzBytes
import CairnLog
import CairnStore

/// A snapshot's bytes: read to the last block as they are and with good checksums; then as the
/// floor of a store.
enum SnapshotEntry {
  static func run(_ bytes: [UInt8]) throws {
    _ = try? SnapshotReading.hash(bytes, "raw")
    var repaired = bytes
    SnapshotRepair.run(&repaired)
    if repaired != bytes { _ = try? SnapshotReading.hash(repaired, "repaired") }
    guard (try? SnapshotReader("s", disk: OneFileDisk(repaired))) != nil else { return }
    let bench = StoreBench()
    let owner = HeaderOwner.of(repaired)
    try bench.put(snapshot: repaired, datastore: owner)
    try bench.live(datastore: owner, compacts: bytes.count % 16 == 0)
  }
}

/// `description length u16 · description · (length u16 · block) …`: as a snapshot whose checksums
/// are all good and whose blocks are not packed.
enum BlockEntry {
  static func run(_ bytes: [UInt8]) throws {
    guard let snapshot = snapshot(bytes) else { return }
    _ = try? SnapshotReading.hash(snapshot, "blocks")
    guard (try? SnapshotReader("s", disk: OneFileDisk(snapshot))) != nil else {
      throw FuzzFinding("a snapshot that is made here can't be opened")
    }
    let bench = StoreBench()
    try bench.put(snapshot: snapshot, datastore: StoreBench.datastore)
    try bench.live(compacts: bytes.count % 16 == 0)
  }

  /// nil if the bytes are too few.
  static func snapshot(_ bytes: [UInt8]) -> [UInt8]? {
    var reader = ByteReader(bytes)
    guard let length = try? reader.u16(), let part = try? reader.skip(Int(length)) else {
      return nil
    }
    let description = Array(bytes[part])
    var blocks: [[UInt8]] = []
    while blocks.count < 64, let length = try? reader.u16(), length > 0 {
      // No file has room for one without any bytes.
      guard let part = try? reader.skip(min(Int(length), reader.remaining)), !part.isEmpty else {
        break
      }
      blocks.append(Array(bytes[part]))
    }
    var header = SnapshotHeader(datastore: StoreBench.datastore)
    header.rowBits = 12
    header.locatorBits = 24
    header.indexPages = 1
    header.blockCount = UInt32(blocks.count)
    header.recordCount = UInt64(blocks.count)
    var body: [UInt8] = []
    var offsets: [UInt64] = []
    for (number, block) in blocks.enumerated() {
      offsets.append(UInt64(SnapshotHeader.size + body.count))
      body.put(UInt32(block.count))
      body.put(UInt32(block.count))
      let seed = SnapshotHeader.blockSeed(number: number, rawLength: block.count)
      body.put(XXH3.hash64(block, seed: seed))
      body.append(contentsOf: block)
    }
    header.directoryOffset = UInt64(SnapshotHeader.size + body.count)
    if !blocks.isEmpty { body += page(offsets) }
    header.indexOffset = UInt64(SnapshotHeader.size + body.count)
    body += page([])
    header.descriptionOffset = UInt64(SnapshotHeader.size + body.count)
    header.descriptionLength = UInt32(description.count)
    body += description
    body.put(XXH3.hash64(description, seed: UInt64(description.count)))
    return header.encoded() + body
  }

  private static func page(_ words: [UInt64]) -> [UInt8] {
    var payload: [UInt8] = []
    for word in words { payload.put(word) }
    payload += repeatElement(0, count: SnapshotHeader.pagePayload - payload.count)
    var page: [UInt8] = []
    page.put(XXH3.hash64(payload, seed: 0))
    return page + payload
  }
}
