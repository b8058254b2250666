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
  /// It is another datastore's; nothing of it is taken.
  package private(set) var isForeign = false
  package private(set) var description: [UInt8]?
  package private(set) var lost: [Gap] = []
  package private(set) var blocks: [Place] = []
  /// Blocks that the file has, or had. Without a header it is how many there are by where the pages
  /// begin, or at least.
  package private(set) var blockCount = 0
  /// Numbers of blocks of which a bit was put right, with their bytes.
  package private(set) var mended: [Int: [UInt8]] = [:]
  package private(set) var budget: BitMend
  private let datastore: UInt128
  private let file: any DiskFile
  private let length: UInt64
  /// Where the pages behind the blocks begin, if there is no header to tell it.
  private var pagesStart: UInt64?
  /// Offsets of blocks, as far as the pages that hold them verify, and their numbers in order.
  private var known: [Int: UInt64] = [:]
  private var knownNumbers: [Int] = []
  /// In `knownNumbers`: the first one behind the block that was looked for last.
  private var nextKnown = 0
  /// Bytes that may still be hashed where nothing tells the offsets: where very many places look
  /// like a block, somebody has put them there. Ordinary content often looks like a large block,
  /// and hardly ever like one of the size that almost all have; so large ones have a patience of
  /// their own.
  private var patience: UInt64 = 0
  private var patienceForLarge: UInt64 = 0

  /// How often a file may be hashed in all.
  private static let hashesMax: UInt64 = 64
  /// Numbers that are tried at a place.
  private static let numbersTried = 16
  private static let largeFrom = 1 << 20
  private static let largeMax = 16 << 20

  package struct Place: Sendable {
    package var number: Int
    package var offset: UInt64
    package var stored: Int
    package var rawLength: Int

    var end: UInt64 { offset + UInt64(SnapshotHeader.blockHeaderSize + stored) }
  }

  /// Bytes of the file that are no block and should be, or that should be there.
  package struct Gap: Sendable {
    /// Of the first block that was expected there.
    package var number: Int
    /// nil: nothing tells how many there were, if any.
    package var count: Int?
    package var range: Range<UInt64>
  }

  /// Only what the disk refuses is an error, and a file of a newer version.
  package init(
    _ path: String, disk: any Disk, datastore: UInt128, mend: BitMend
  ) throws(LogError) {
    self.path = path
    self.datastore = datastore
    budget = mend
    do throws(DiskError) {
      file = try disk.open(path, .read)
      length = try file.size()
    } catch { throw LogError(error) }
    // No file is so long that this is too much for the number.
    patience = min(length, 1 << 50) * SnapshotSalvage.hashesMax
    patienceForLarge = patience
    do throws(LogError) { try readHeader() } catch {
      file.close()
      throw error
    }
    if isForeign { return }
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
    isForeign = header.map { $0.datastore != datastore } ?? false
  }

  /// What can't be read is as good as damaged.
  private func read(_ offset: UInt64, _ count: Int) -> [UInt8] {
    guard offset < length, count > 0 else { return [] }
    do { return try file.read(at: offset, count: count) } catch { return [] }
  }

  // MARK: blocks

  private func findBlocks() {
    readDirectory()
    let end = min(header.map(\.directoryOffset) ?? length, length)
    var offset = UInt64(SnapshotHeader.size)
    var number = 0
    while offset < end, header.map({ number < Int($0.blockCount) }) ?? true {
      offset = known[number] ?? offset
      var place = block(number, at: offset, before: end)
      if place == nil {
        // Without a header the blocks end where the pages begin.
        if header == nil, endsBlocks(&number, &offset) { break }
        place = next(number, from: offset, end)
      }
      guard let found = place else { break }
      for missing in number..<found.number {
        note(missing, from: known[missing] ?? offset, to: known[missing + 1] ?? found.offset)
      }
      blocks.append(found)
      (number, offset) = (found.number + 1, found.end)
    }
    if let header {
      blockCount = Int(header.blockCount)
      noteRest(number, min(offset, length), header)
    } else {
      blockCount = number
      guard pagesStart == nil, offset < length else { return }
      lost.append(Gap(number: number, count: nil, range: offset..<length))
    }
  }

  /// What one part of a bent directory says need not fit what another says.
  private func note(_ number: Int, count: Int = 1, from start: UInt64, to end: UInt64) {
    lost.append(Gap(number: number, count: count, range: start..<max(start, end)))
  }

  /// Blocks behind those that were found: each of those whose place is known, and the others as
  /// one, since a header can count more than there is memory for.
  private func noteRest(_ first: Int, _ offset: UInt64, _ header: SnapshotHeader) {
    let count = Int(header.blockCount)
    var number = first
    while number < count, let place = known[number] {
      note(number, from: place, to: known[number + 1] ?? header.directoryOffset)
      number += 1
    }
    guard number < count else { return }
    let start = number == first ? offset : known[number - 1] ?? offset
    note(number, count: count - number, from: start, to: header.directoryOffset)
  }

  /// Whether the pages begin at an offset where no block is, or behind the damaged block that seems
  /// to be there, which then was the last.
  private func endsBlocks(_ number: inout Int, _ offset: inout UInt64) -> Bool {
    if page(offset, 0) != nil {
      pagesStart = offset
      return true
    }
    guard let place = plausible(number, at: offset, before: length), page(place.end, 0) != nil
    else { return false }
    note(number, from: offset, to: place.end)
    (number, offset) = (number + 1, place.end)
    pagesStart = place.end
    return true
  }

  /// Takes the directory's word for offsets that are in the file and ascend. Of two that do not,
  /// one is wrong, and nothing tells which.
  private func readDirectory() {
    guard let header else { return }
    let end = min(header.directoryOffset, length)
    let perPage = SnapshotHeader.offsetsPerPage
    let count = Int(header.blockCount)
    // A header can count more pages than anybody could ask for.
    let present = Int(clamping: (length - end) / UInt64(SnapshotHeader.pageSize))
    for page in 0..<min((count + perPage - 1) / perPage, present) {
      guard let bytes = self.page(header.directoryOffset, page) else { continue }
      for index in 0..<min(perPage, count - page * perPage) {
        let offset = bytes.u64(at: 8 + index * 8)
        guard offset >= UInt64(SnapshotHeader.size), offset < end else { continue }
        if let last = knownNumbers.last, known[last] ?? 0 >= offset {
          knownNumbers.removeLast()
          known[last] = nil
          continue
        }
        knownNumbers.append(page * perPage + index)
        known[page * perPage + index] = offset
      }
    }
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

  /// The block of a number, if it is at `offset`, also if one bit of it is wrong.
  private func block(_ number: Int, at offset: UInt64, before end: UInt64) -> Place? {
    let lengths = storedLengths(number, at: offset, before: end)
    // Of two only one can be right; what is right as it is goes before what can be mended.
    for mends in [false, true] {
      for stored in lengths {
        if let place = block(number, at: offset, stored: stored, mends: mends) { return place }
      }
    }
    return nil
  }

  /// What a block's stored length can be: as it says, and as it follows from where the next one
  /// begins.
  private func storedLengths(
    _ number: Int, at offset: UInt64, before end: UInt64
  ) -> [Int] {
    let size = UInt64(SnapshotHeader.blockHeaderSize)
    guard offset < end, end - offset > size else { return [] }
    let head = read(offset, SnapshotHeader.blockHeaderSize)
    guard head.count == SnapshotHeader.blockHeaderSize else { return [] }
    var lengths = [UInt64(head.u32(at: 4))]
    if let next = known[number + 1] ?? endOfLast(number), next > offset + size,
      next - offset - size != lengths[0]
    {
      lengths.append(next - offset - size)
    }
    let most = min(end - offset - size, UInt64(SnapshotHeader.blockBytesMax))
    return lengths.filter { $0 > 0 && $0 <= most }.map { Int($0) }
  }

  /// Where the last block ends, by the header.
  private func endOfLast(_ number: Int) -> UInt64? {
    guard let header, number + 1 == Int(header.blockCount) else { return nil }
    return header.directoryOffset
  }

  private func block(
    _ number: Int, at offset: UInt64, stored: Int, mends: Bool
  ) -> Place? {
    let count = SnapshotHeader.blockHeaderSize + stored
    let bytes = read(offset, count)
    // It may be that it can't be read.
    guard bytes.count == count else { return nil }
    var copy = bytes
    copy.set(UInt32(stored), at: 4)
    func fits(_ bytes: [UInt8]) -> Bool {
      let rawLength = Int(bytes.u32(at: 0))
      return stored <= rawLength && rawLength <= SnapshotHeader.blockBytesMax
        && SnapshotSalvage.isRight(bytes, number)
    }
    var isWhole = fits(copy)
    // The checksum does not cover the unpacked length, and depends on it.
    if mends, !isWhole { isWhole = budget.mend(&copy, 0..<4, length: count, fits) }
    if mends, !isWhole { isWhole = budget.mend(&copy, 8..<count, length: count, fits) }
    guard isWhole else { return nil }
    if copy != bytes { mended[number] = copy }
    return Place(
      number: number, offset: offset, stored: stored, rawLength: Int(copy.u32(at: 0)))
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

  /// The first good block behind the one of a number, which is not where it should be: at the end
  /// of that, if its length is still right; where the directory says; or, of those of which it does
  /// not know where they are, anywhere between.
  private func next(_ number: Int, from offset: UInt64, _ end: UInt64) -> Place? {
    let count = header.map { Int($0.blockCount) } ?? .max
    if number + 1 < count, let damaged = plausible(number, at: offset, before: end),
      let found = plausible(number + 1, at: damaged.end, before: end),
      isWhole(found)
    {
      return found
    }
    while nextKnown < knownNumbers.count, knownNumbers[nextKnown] <= number { nextKnown += 1 }
    var (last, start) = (number, offset)
    for later in knownNumbers[nextKnown...] {
      guard let place = known[later] else { continue }
      if later > last + 1, let found = search(last..<later, from: start, to: place) { return found }
      if let found = block(later, at: place, before: end) { return found }
      (last, start) = (later, place)
    }
    return last + 1 < count ? search(last..<count, from: start, to: end) : nil
  }

  private func isWhole(_ place: Place) -> Bool {
    let bytes = read(place.offset, SnapshotHeader.blockHeaderSize + place.stored)
    return SnapshotSalvage.isRight(bytes, place.number)
  }

  /// The first block that has one of these numbers, found by looking at every offset.
  private func search(_ numbers: Range<Int>, from offset: UInt64, to end: UInt64) -> Place? {
    let window = 1 << 20
    let size = SnapshotHeader.blockHeaderSize
    var start = offset + 1
    while start < end {
      let bytes = read(start, window + size)
      if bytes.count <= size { break }
      for index in 0..<(bytes.count - size) {
        let (raw, stored) = (Int(bytes.u32(at: index)), Int(bytes.u32(at: index + 4)))
        guard stored > 0, stored <= raw, raw <= SnapshotSalvage.largeMax,
          raw <= stored * LZ4.expansionLimit + 64
        else { continue }
        let place = start + UInt64(index)
        guard place < end, UInt64(size + stored) <= end - place else { continue }
        let found = Place(number: numbers.lowerBound, offset: place, stored: stored, rawLength: raw)
        if let found = numbered(found, numbers) { return found }
      }
      start += UInt64(bytes.count - size)
    }
    return nil
  }

  /// What seems to be a block, under the number for which it is one.
  private func numbered(_ place: Place, _ numbers: Range<Int>) -> Place? {
    let count = SnapshotHeader.blockHeaderSize + place.stored
    let tried = numbers.prefix(SnapshotSalvage.numbersTried)
    let cost = UInt64(count * tried.count)
    if place.rawLength < SnapshotSalvage.largeFrom {
      guard cost <= patience else { return nil }
      patience -= cost
    } else {
      guard cost <= patienceForLarge else { return nil }
      patienceForLarge -= cost
    }
    let bytes = read(place.offset, count)
    for number in tried where SnapshotSalvage.isRight(bytes, number) {
      var result = place
      result.number = number
      return result
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
    guard let pagesStart else { return }
    let perPage = SnapshotHeader.offsetsPerPage
    let directoryPages = (blockCount + perPage - 1) / perPage
    let index = pagesStart + UInt64(directoryPages * SnapshotHeader.pageSize)
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
    let slots = SnapshotSlots(header)
    var probe = slots.probe(hash)
    guard let page = page(header.indexOffset, probe.page) else { return nil }
    func load(_ slot: Int) -> UInt64 {
      slots.isWide ? page.u64(at: 8 + slot * 8) : UInt64(page.u32(at: 8 + slot * 4))
    }
    while let place = slots.next(&probe, load) {
      if place == (block, row) { return true }
    }
    return false
  }
}
