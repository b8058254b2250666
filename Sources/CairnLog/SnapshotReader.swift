import CairnBytes
package import CairnDisk

/// Reads a snapshot file: nothing but the header and the description at open, then single pages and
/// blocks, each verified when it is first touched.
///
/// Pages and blocks are read, not mapped: a damaged sector under a mapping kills the process, under
/// a read it is an error; the reads are advised to be random, so a cold look-up costs the same few
/// page reads. Thread-safe.
package final class SnapshotReader: Sendable {
  package let path: String
  package let header: SnapshotHeader
  package let description: [UInt8]
  private let file: any DiskFile
  /// How the index is laid out.
  private let slots: SnapshotSlots
  /// Verified pages, those of the directory first: every look-up goes through one of the index.
  private let pages: PageRoom
  private let directoryPages: Int
  /// Whether it lies in the store's own directory: its blocks were written here, or looked at to
  /// the last byte when the file came in. Who copies a store there from elsewhere vouches for it.
  private let isOwn: Bool

  package init(_ path: String, disk: any Disk, isOwn: Bool = false) throws(LogError) {
    self.path = path
    self.isOwn = isOwn
    do { file = try disk.open(path, .read) } catch {
      if error.reason == .notFound {
        throw LogError(.missing, path, "the snapshot that CURRENT names is not there")
      }
      throw LogError(error)
    }
    do {
      file.adviseRandom()
      let length = try file.size()
      let first = try file.read(at: 0, count: SnapshotHeader.size)
      header = try SnapshotHeader(first, fileLength: length, path: path)
      let part = try file.read(
        at: header.descriptionOffset, count: Int(header.descriptionLength) + 8)
      description = try SnapshotReader.checkedDescription(part, header, path)
    } catch {
      file.close()
      if let error = error as? DiskError { throw LogError(error) }
      throw error as? LogError ?? LogError(.corrupt, path, "\(error)")
    }
    slots = SnapshotSlots(header)
    directoryPages = Int(
      (header.indexOffset - header.directoryOffset) / UInt64(SnapshotHeader.pageSize))
    pages = PageRoom(pages: directoryPages + Int(header.indexPages))
  }

  deinit { file.close() }

  private static func checkedDescription(
    _ part: [UInt8], _ header: SnapshotHeader, _ path: String
  ) throws(LogError) -> [UInt8] {
    let length = Int(header.descriptionLength)
    guard part.count == length + 8,
      part.u64(at: length) == XXH3.hash64(part, 0..<length, seed: UInt64(length))
    else {
      throw LogError(.corrupt, path, at: header.descriptionOffset, "the description is damaged")
    }
    return Array(part[0..<length])
  }

  package var blockCount: Int { Int(header.blockCount) }
  package var fileLength: UInt64 { header.fileLength }

  /// Begins to look for the records whose slots fit `hash`. Almost always that is one record, or
  /// none.
  package func probe(_ hash: UInt64) -> SnapshotProbe { slots.probe(hash) }

  /// The locator (block, row) of the next one; nil when there are no more.
  package func next(
    _ probe: inout SnapshotProbe
  ) throws(LogError) -> (block: Int, row: Int)? {
    let page = directoryPages &+ probe.page
    if !pages.holds(page) {
      let bytes = try readPage(at: header.indexOffset, probe.page)
      pages.keep(page, bytes)
      // It may be that there is no room to keep it.
      return slots.next(&probe) {
        slots.isWide ? bytes.u64(at: 8 + $0 * 8) : UInt64(bytes.u32(at: 8 + $0 * 4))
      }
    }
    return slots.next(&probe) {
      slots.isWide
        ? pages.u64(page, at: 8 &+ $0 &* 8) : UInt64(pages.u32(page, at: 8 &+ $0 &* 4))
    }
  }

  private func readPage(at start: UInt64, _ number: Int) throws(LogError) -> [UInt8] {
    let offset = start + UInt64(number) * UInt64(SnapshotHeader.pageSize)
    let page: [UInt8]
    do { page = try file.read(at: offset, count: SnapshotHeader.pageSize) } catch {
      throw LogError(error)
    }
    guard page.count == SnapshotHeader.pageSize else {
      throw LogError(.truncated, path, at: offset, "a page is cut off")
    }
    guard page.u64(at: 0) == XXH3.hash64(page, 8..<page.count, seed: UInt64(number)) else {
      throw LogError(.corrupt, path, at: offset, "page \(number) is damaged")
    }
    return page
  }

  private func blockOffset(_ number: Int) throws(LogError) -> UInt64 {
    let page = number / SnapshotHeader.offsetsPerPage
    let offset = 8 + number % SnapshotHeader.offsetsPerPage * 8
    if pages.holds(page) { return pages.u64(page, at: offset) }
    let bytes = try readPage(at: header.directoryOffset, page)
    // Few, and asked for with each block.
    pages.keep(page, bytes, always: true)
    return bytes.u64(at: offset)
  }

  /// A block, read, verified and unpacked. Nothing is kept.
  package func block(_ number: Int) throws(LogError) -> [UInt8] {
    let offset = try blockOffset(number)
    let headerSize = SnapshotHeader.blockHeaderSize
    let next =
      number + 1 < blockCount ? try blockOffset(number + 1) : header.directoryOffset
    guard offset >= UInt64(SnapshotHeader.size), next > offset, next <= header.directoryOffset,
      next - offset <= UInt64(SnapshotHeader.blockBytesMax)
    else { throw LogError(.corrupt, path, at: offset, "block \(number) has impossible bounds") }
    let bytes: [UInt8]
    do { bytes = try file.read(at: offset, count: Int(next - offset)) } catch {
      throw LogError(error)
    }
    guard bytes.count == Int(next - offset), bytes.count > headerSize else {
      throw LogError(.truncated, path, at: offset, "block \(number) is cut off")
    }
    let rawLength = Int(bytes.u32(at: 0))
    let stored = headerSize..<bytes.count
    let seed = SnapshotHeader.blockSeed(number: number, rawLength: rawLength)
    guard Int(bytes.u32(at: 4)) == stored.count,
      bytes.u64(at: 8) == XXH3.hash64(bytes, stored, seed: seed)
    else { throw LogError(.corrupt, path, at: offset, "block \(number) is damaged") }
    guard rawLength <= SnapshotHeader.blockBytesMax else {
      throw LogError(.limit, path, at: offset, "block \(number) declares \(rawLength) bytes")
    }
    if rawLength == stored.count { return Array(bytes[stored]) }
    do { return try LZ4.unpack(bytes, stored, count: rawLength, isOwn: isOwn) } catch {
      throw LogError(error, path, at: offset, "block \(number)")
    }
  }

  /// Verifies every page; blocks are the caller's, who can also look inside.
  package func verifyPages() throws(LogError) {
    for number in 0..<Int(header.indexPages) {
      _ = try readPage(at: header.indexOffset, number)
    }
    let perPage = SnapshotHeader.offsetsPerPage
    for number in 0..<((blockCount + perPage - 1) / perPage) {
      _ = try readPage(at: header.directoryOffset, number)
    }
  }
}
