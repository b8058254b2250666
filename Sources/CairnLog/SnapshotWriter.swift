import CairnBytes
package import CairnDisk

/// Writes a snapshot file from blocks that arrive in order. Memory: two batches of blocks, a write
/// buffer, 16 bytes a block, and for the index 8 bytes a record; beyond so many records as a place
/// for more says, these are in a temporary file there. In the end each of the index's parts takes
/// 16 bytes for its records, which are a sixteenth of all, or a few hundred thousand.
package final class SnapshotWriter {
  private let file: any DiskFile
  private var header: SnapshotHeader
  private var buffer: [UInt8] = []
  private var written: UInt64 = UInt64(SnapshotHeader.size)
  private var blockOffsets: [UInt64] = []
  private let hashes: RecordHashes
  /// Of each block.
  private var firstRecords: [Int] = []
  private var rowMax = 0
  private var batch: [@Sendable () -> [UInt8]] = []
  private var packing: BlockPacking?
  private let recordsMax: UInt64

  private static let bufferBytes = 1 << 20
  private static let batchBlocks = 16
  /// Index pages are filled to this many slots on average: probes stay short and pages never full.
  private static let fill = 0.78

  /// Whoever gives a place for what is too much for memory says `discard` in the end. Fewer
  /// records than the format allows are for tests: none could write so many.
  package init(
    file: any DiskFile, datastore: UInt128, spill: SpillPlace? = nil,
    recordsMax: UInt32 = .max
  ) {
    self.file = file
    self.recordsMax = UInt64(recordsMax)
    hashes = RecordHashes(spill)
    header = SnapshotHeader(datastore: datastore)
  }

  package private(set) var blockCount = 0

  /// Makes room for the index of so many records.
  package func expect(records: Int) { hashes.expect(records) }

  /// Removes what was not for the file alone, also if it was not finished. Any number of times.
  package func discard() { hashes.discard() }

  /// Adds a block and the hashes of its records, row by row.
  package func add(block raw: [UInt8], hashes rowHashes: [UInt64]) throws(LogError) {
    try add(hashes: rowHashes) { raw }
  }

  /// The same for a block whose bytes are yet to be made, on another thread.
  package func add(
    hashes rowHashes: [UInt64], bytes: @escaping @Sendable () -> [UInt8]
  ) throws(LogError) {
    guard UInt64(hashes.count + rowHashes.count) <= recordsMax else {
      throw LogError(.limit, file.path, "a snapshot has at most \(recordsMax) records")
    }
    firstRecords.append(hashes.count)
    batch.append(bytes)
    try hashes.append(rowHashes)
    blockCount += 1
    rowMax = max(rowMax, rowHashes.count)
    if batch.count >= SnapshotWriter.batchBlocks { try sendBatch() }
  }

  /// Packing costs as much as everything else: another thread packs one batch of blocks while the
  /// rows of the next one are being collected.
  private func sendBatch() throws(LogError) {
    try takePacked()
    if batch.isEmpty { return }
    packing = BlockPacking(batch, first: blockCount - batch.count)
    batch.removeAll(keepingCapacity: true)
  }

  private func takePacked() throws(LogError) {
    guard let packing else { return }
    for block in packing.result() {
      // No reader takes more than that: written all the same, it would be found out only when
      // the log, which has the record, is gone.
      let size = max(Int(block.u32(at: 0)), block.count)
      guard size <= SnapshotHeader.blockBytesMax else {
        throw LogError(
          .limit, file.path,
          "a record takes \(size) bytes in a snapshot, which holds at most "
            + "\(SnapshotHeader.blockBytesMax) of one; the log keeps it, and can't be folded until "
            + "the record is made smaller")
      }
      blockOffsets.append(written + UInt64(buffer.count))
      buffer.append(contentsOf: block)
      if buffer.count >= SnapshotWriter.bufferBytes { try flush() }
    }
    self.packing = nil
  }

  private func flush() throws(LogError) {
    guard !buffer.isEmpty else { return }
    // A span of a stored property can't be passed on; the local borrows its storage.
    var bytes: [UInt8] = []
    swap(&bytes, &buffer)
    do { try file.write(bytes.span, at: written) } catch { throw LogError(error) }
    written += UInt64(bytes.count)
    bytes.removeAll(keepingCapacity: true)
    swap(&bytes, &buffer)
  }

  /// Writes what is left and syncs the file. Returns its length.
  package func finish(
    description: [UInt8], floor: UInt16 = FormatVersion.floor
  ) throws(LogError) -> UInt64 {
    guard description.count <= SnapshotHeader.descriptionBytesMax else {
      throw LogError(
        .limit, file.path,
        "the tables and devices take \(description.count) bytes in a snapshot, which holds at most "
          + "\(SnapshotHeader.descriptionBytesMax) of them; the log keeps everything, and can't be "
          + "folded until tables or devices are fewer")
    }
    header.floor = floor
    try sendBatch()
    try takePacked()
    header.blockCount = UInt32(blockOffsets.count)
    header.recordCount = UInt64(hashes.count)
    header.directoryOffset = written + UInt64(buffer.count)
    try putPages(blockOffsets, perPage: SnapshotHeader.offsetsPerPage, width: 8)
    header.indexOffset = written + UInt64(buffer.count)
    try putIndex()
    header.descriptionOffset = written + UInt64(buffer.count)
    header.descriptionLength = UInt32(description.count)
    buffer.append(contentsOf: description)
    buffer.put(XXH3.hash64(description, seed: UInt64(description.count)))
    try flush()
    do {
      let bytes = header.encoded()
      try file.write(bytes.span, at: 0)
      try file.sync()
    } catch { throw LogError(error) }
    return written
  }

  private func putPages(_ values: [UInt64], perPage: Int, width: Int) throws(LogError) {
    var page = 0
    var start = 0
    while start < values.count {
      let end = min(start + perPage, values.count)
      putPage(Array(values[start..<end]), number: page, width: width)
      if buffer.count >= SnapshotWriter.bufferBytes { try flush() }
      page += 1
      start = end
    }
  }

  /// Made in an array of its own: what belongs to the object is asked for with each access whether
  /// somebody else uses it.
  private func putPage(_ values: [UInt64], number: Int, width: Int) {
    var page: [UInt8] = []
    page.reserveCapacity(SnapshotHeader.pageSize)
    page.put(UInt64(0))
    page.put(values, less: 0, width: width)
    page.append(contentsOf: repeatElement(0, count: SnapshotHeader.pageSize - page.count))
    page.set(XXH3.hash64(page, 8..<page.count, seed: UInt64(number)), at: 0)
    buffer.append(contentsOf: page)
  }

  private func putIndex() throws(LogError) {
    header.rowBits = UInt8(Int.bitWidth - max(1, rowMax - 1).leadingZeroBitCount)
    let largest = UInt64(max(1, blockOffsets.count)) << UInt64(header.rowBits)
    header.locatorBits = UInt8(UInt64.bitWidth - largest.leadingZeroBitCount)
    header.slotBytes = header.locatorBits <= 30 ? 4 : 8
    let perPage = header.slotsPerPage
    let room = Double(perPage) * SnapshotWriter.fill
    var pages = max(1, Int((Double(hashes.count) / room).rounded(.up)))
    let index = SnapshotIndex(hashes, firstRecords: firstRecords)
    var counts = try index.counts(pages: pages)
    let pagesMax = pages * 8 + 64
    while counts.contains(where: { $0 >= perPage }) {
      pages += 1 + pages / 64
      guard pages <= pagesMax else {
        throw LogError(.limit, file.path, "too many records have the same hash")
      }
      counts = try index.counts(pages: pages)
    }
    header.indexPages = UInt32(pages)
    let width = Int(header.slotBytes)
    try index.pages(counts, SnapshotSlots(header)) { slots, page throws(LogError) in
      putPage(slots, number: page, width: width)
      if buffer.count >= SnapshotWriter.bufferBytes { try flush() }
    }
    discard()
  }
}
