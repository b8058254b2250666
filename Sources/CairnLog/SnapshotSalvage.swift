import CairnBytes
package import CairnDisk

/// What can still be read of a damaged snapshot file: blocks that verify, found by the directory
/// or, where that is damaged too, one behind the other; and the description.
///
/// For repairs only: whoever opens a snapshot takes all of it or nothing.
package final class SnapshotSalvage {
  package let path: String
  /// The header, if its checksum is right; its parts need not be there.
  package private(set) var header: SnapshotHeader?
  package private(set) var description: [UInt8]?
  /// Bytes of the file that are no block and should be, with the block that was expected there.
  package private(set) var lost: [(number: Int, range: Range<UInt64>)] = []
  package private(set) var blocks: [Place] = []
  /// Numbers of blocks of which a bit was put right, with their bytes.
  package private(set) var mended: [Int: [UInt8]] = [:]
  package private(set) var budget: BitMend
  private let file: any DiskFile
  private let length: UInt64

  package struct Place: Sendable {
    package var number: Int
    package var offset: UInt64
    package var stored: Int
    package var rawLength: Int

    var end: UInt64 { offset + UInt64(SnapshotHeader.blockHeaderSize + stored) }
  }

  /// Only what the disk refuses is an error, and a file of a newer version.
  package init(_ path: String, disk: any Disk, mend: BitMend) throws(LogError) {
    self.path = path
    budget = mend
    do throws(DiskError) {
      file = try disk.open(path, .read)
      length = try file.size()
    } catch { throw LogError(error) }
    do throws(LogError) { try readHeader() } catch {
      file.close()
      throw error
    }
    findBlocks()
    findDescription()
  }

  deinit { file.close() }

  private func readHeader() throws(LogError) {
    var first: [UInt8]
    do { first = try file.read(at: 0, count: SnapshotHeader.size) } catch {
      throw LogError(error)
    }
    guard first.count == SnapshotHeader.size else { return }
    if SnapshotHeader(salvaging: first) == nil {
      _ = budget.mend(&first, 0..<first.count, length: first.count) {
        SnapshotHeader(salvaging: $0) != nil
      }
    }
    header = SnapshotHeader(salvaging: first)
    if header != nil {
      try FormatVersion.check(floor: first.u16(at: 10), path: path, known: FormatVersion.cuts)
    }
  }

  /// What can't be read is as good as damaged.
  private func read(_ offset: UInt64, _ count: Int) -> [UInt8] {
    guard offset < length, count > 0 else { return [] }
    do { return try file.read(at: offset, count: count) } catch { return [] }
  }

  // MARK: blocks

  private func findBlocks() {
    let known = directory()
    let end = min(header.map(\.directoryOffset) ?? length, length)
    var offset = UInt64(SnapshotHeader.size)
    var number = 0
    while offset < end, header.map({ number < Int($0.blockCount) }) ?? true {
      if let place = known[number] { offset = place }
      if let place = block(number, at: offset, before: end) {
        blocks.append(place)
        offset = place.end
        number += 1
        continue
      }
      // Without a header the blocks end where no block begins.
      guard let next = next(number, from: offset, end, known) else {
        if header != nil, offset < end { lost.append((number, offset..<end)) }
        break
      }
      for missing in number..<next.number {
        lost.append((missing, (known[missing] ?? offset)..<(known[missing + 1] ?? next.offset)))
      }
      (number, offset) = (next.number, next.offset)
    }
    noteRest(known)
  }

  /// Blocks behind the end of a file that was cut.
  private func noteRest(_ known: [Int: UInt64]) {
    guard let header else { return }
    let seen = max((blocks.last?.number ?? -1) + 1, (lost.last?.number ?? -1) + 1)
    for number in seen..<max(seen, Int(header.blockCount)) {
      let start = known[number] ?? min(length, header.directoryOffset)
      lost.append((number, start..<max(start, known[number + 1] ?? header.directoryOffset)))
    }
  }

  /// Offsets of blocks, as far as the pages that hold them verify.
  private func directory() -> [Int: UInt64] {
    guard let header else { return [:] }
    var result: [Int: UInt64] = [:]
    let perPage = SnapshotHeader.offsetsPerPage
    let count = Int(header.blockCount)
    for page in 0..<((count + perPage - 1) / perPage) {
      guard let bytes = self.page(header.directoryOffset, page) else { continue }
      for index in 0..<min(perPage, count - page * perPage) {
        result[page * perPage + index] = bytes.u64(at: 8 + index * 8)
      }
    }
    return result
  }

  /// A page that verifies.
  private func page(_ start: UInt64, _ number: Int) -> [UInt8]? {
    let size = SnapshotHeader.pageSize
    let (skip, overflow) = UInt64(size).multipliedReportingOverflow(by: UInt64(number))
    guard !overflow, start <= length, skip <= length - start else { return nil }
    let bytes = read(start + skip, size)
    guard bytes.count == size,
      bytes.u64(at: 0) == XXH3.hash64(bytes, 8..<size, seed: UInt64(number))
    else { return nil }
    return bytes
  }

  /// The block of a number, if it is at `offset`.
  private func block(_ number: Int, at offset: UInt64, before end: UInt64) -> Place? {
    guard let place = plausible(number, at: offset, before: end) else { return nil }
    let bytes = read(offset, SnapshotHeader.blockHeaderSize + place.stored)
    if SnapshotSalvage.isRight(bytes, number) { return place }
    // It may be that it can't be read.
    guard bytes.count == SnapshotHeader.blockHeaderSize + place.stored else { return nil }
    var copy = bytes
    let isMended = budget.mend(&copy, 8..<copy.count, length: copy.count) {
      SnapshotSalvage.isRight($0, number)
    }
    guard isMended else { return nil }
    mended[number] = copy
    return place
  }

  private static func isRight(_ bytes: [UInt8], _ number: Int) -> Bool {
    let header = SnapshotHeader.blockHeaderSize
    guard bytes.count > header, Int(bytes.u32(at: 4)) == bytes.count - header else { return false }
    let seed = SnapshotHeader.blockSeed(number: number, rawLength: Int(bytes.u32(at: 0)))
    return bytes.u64(at: 8) == XXH3.hash64(bytes, header..<bytes.count, seed: seed)
  }

  private func plausible(_ number: Int, at offset: UInt64, before end: UInt64) -> Place? {
    let size = SnapshotHeader.blockHeaderSize
    guard offset < end, end - offset > UInt64(size) else { return nil }
    let bytes = read(offset, size)
    guard bytes.count == size else { return nil }
    let (raw, stored) = (Int(bytes.u32(at: 0)), Int(bytes.u32(at: 4)))
    guard stored > 0, stored <= raw, raw <= SnapshotHeader.blockBytesMax,
      UInt64(size + stored) <= end - offset
    else { return nil }
    return Place(number: number, offset: offset, stored: stored, rawLength: raw)
  }

  /// The next block that is where the directory says, or that is found by looking at every offset.
  private func next(
    _ number: Int, from offset: UInt64, _ end: UInt64, _ known: [Int: UInt64]
  ) -> Place? {
    let later = known.filter { $0.key > number }.sorted { $0.key < $1.key }
    for (number, offset) in later {
      if let place = block(number, at: offset, before: end) { return place }
    }
    if !later.isEmpty { return nil }
    let window = 1 << 20
    var start = offset + 1
    while start < end {
      let bytes = read(start, window + 16)
      if bytes.count <= 16 { return nil }
      for index in 0..<(bytes.count - 16) {
        let (raw, stored) = (bytes.u32(at: index), bytes.u32(at: index + 4))
        guard stored > 0, stored <= raw, raw <= 16 << 20 else { continue }
        let place = start + UInt64(index)
        guard let found = plausible(number, at: place, before: end) else { continue }
        let block = read(place, SnapshotHeader.blockHeaderSize + found.stored)
        for candidate in number..<(number + 16) where SnapshotSalvage.isRight(block, candidate) {
          var result = found
          result.number = candidate
          return result
        }
      }
      start += UInt64(bytes.count - 16)
    }
    return nil
  }

  /// The unpacked content of a block; nil if it does not unpack.
  package func content(_ place: Place) -> [UInt8]? {
    let header = SnapshotHeader.blockHeaderSize
    let bytes = mended[place.number] ?? read(place.offset, header + place.stored)
    guard bytes.count == header + place.stored else { return nil }
    if place.rawLength == place.stored { return Array(bytes[header...]) }
    do { return try LZ4.unpack(bytes, header..<bytes.count, count: place.rawLength) } catch {
      return nil
    }
  }

  // MARK: the description

  private func findDescription() {
    if let header {
      description = checked(header.descriptionOffset, Int(header.descriptionLength))
      return
    }
    // Behind the pages, and to the end of the file.
    guard let last = blocks.last, lost.isEmpty else { return }
    let perPage = SnapshotHeader.offsetsPerPage
    let directoryPages = (last.number + perPage) / perPage
    let index = last.end + UInt64(directoryPages * SnapshotHeader.pageSize)
    var pages = 0
    while page(index, pages) != nil { pages += 1 }
    let start = index + UInt64(pages * SnapshotHeader.pageSize)
    guard start + 8 < length else { return }
    description = checked(start, Int(clamping: length - start - 8))
  }

  private func checked(_ offset: UInt64, _ count: Int) -> [UInt8]? {
    guard count > 0, count <= SnapshotHeader.descriptionBytesMax else { return nil }
    var bytes = read(offset, count + 8)
    guard bytes.count == count + 8 else { return nil }
    func isRight(_ bytes: [UInt8]) -> Bool {
      bytes.u64(at: count) == XXH3.hash64(bytes, 0..<count, seed: UInt64(count))
    }
    if !isRight(bytes) {
      guard budget.mend(&bytes, 0..<bytes.count, length: bytes.count, isRight) else { return nil }
    }
    return Array(bytes[0..<count])
  }

  // MARK: the index

  /// Whether the index has a row at a place under this hash; nil if its page is damaged.
  package func isIndexed(_ hash: UInt64, block: Int, row: Int) -> Bool? {
    guard let header, header.indexPages > 0, header.locatorBits > header.rowBits else { return nil }
    let probe = header.probe(hash)
    guard let page = page(header.indexOffset, probe.page) else { return nil }
    let wanted = (UInt64(block) << UInt64(header.rowBits) | UInt64(row)) + 1
    let mask: UInt64 =
      header.locatorBits == 64 ? .max : (1 << UInt64(header.locatorBits)) - 1
    var slot = probe.slot
    for _ in 0..<header.slotsPerPage {
      let value =
        header.slotBytes == 4
        ? UInt64(page.u32(at: 8 + slot * 4)) : page.u64(at: 8 + slot * 8)
      if value == 0 { return false }
      if value & mask == wanted { return true }
      slot = slot + 1 == header.slotsPerPage ? 0 : slot + 1
    }
    return false
  }
}
