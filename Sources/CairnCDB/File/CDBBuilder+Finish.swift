internal import Cairn
internal import CairnBytes
internal import CairnDisk

extension CDBBuilder {
  /// Writes tables and pointers. The file is whole then, but not durable, and not in its place.
  mutating func seal() throws(CairnError) {
    let (entries, starts) = sorted()
    var header: [UInt8] = []
    header.reserveCapacity(format.headerSize)
    for table in 0..<256 {
      let part = starts[table]..<starts[table + 1]
      putPair(position, UInt64(2 * part.count), into: &header)
      if format == .cdb { putTable(entries, part) } else { putWideTable(entries, part) }
      if buffer.count >= Self.bufferSize { try flush() }
    }
    try flush()
    size = position
    do { try file.write(header.span, at: 0) } catch { throw .disk(error, path) }
  }

  // MARK: putting it in its place

  /// Makes the bytes durable.
  func sync() throws(CairnError) {
    do { try file.sync() } catch { throw .disk(error, path) }
  }

  /// What the directory says about the file; a new name changes none of it.
  func info() throws(CairnError) -> FileInfo? {
    do { return try disk.info(temporary) } catch { throw .disk(error, path) }
  }

  /// Gives the file its name.
  func rename() throws(CairnError) {
    do { try disk.rename(temporary, to: path) } catch { throw .disk(error, path) }
  }

  /// Makes the name durable.
  func syncName() throws(CairnError) {
    do { try disk.syncDirectory(FilePath.parent(of: path) ?? ".") } catch {
      throw .disk(error, path)
    }
  }

  /// Closes and removes what was written.
  func discard() {
    file.close()
    CDBTemporary.discard(temporary, on: disk)
  }

  private func putPair(_ first: UInt64, _ second: UInt64, into bytes: inout [UInt8]) {
    if format == .cdb {
      bytes.put(first | second << 32)
    } else {
      bytes.put(first)
      bytes.put(second)
    }
  }

  /// The entries by table, those of a table in the order of the records; and where each begins.
  private func sorted() -> (entries: [UInt64], starts: [Int]) {
    let width = format == .cdb ? 1 : 2
    var starts = [Int](repeating: 0, count: 257)
    for record in 0..<records { starts[Int(entries[record * width] & 255) + 1] += 1 }
    for table in 0..<256 { starts[table + 1] += starts[table] }
    var next = starts
    var sorted = [UInt64](repeating: 0, count: entries.count)
    for record in 0..<records {
      let table = Int(entries[record * width] & 255)
      let place = next[table] * width
      sorted[place] = entries[record * width]
      if width == 2 { sorted[place + 1] = entries[record * 2 + 1] }
      next[table] += 1
    }
    return (sorted, starts)
  }

  private mutating func putTable(_ entries: [UInt64], _ part: Range<Int>) {
    let count = 2 * part.count
    var slots = [UInt64](repeating: 0, count: count)
    for index in part {
      let entry = entries[index]
      var slot = Int((entry & 0xFFFF_FFFF) >> 8) % count
      // No record is at position 0, and half of the slots stay free.
      while slots[slot] != 0 { slot = slot + 1 == count ? 0 : slot + 1 }
      slots[slot] = entry
    }
    for slot in slots { buffer.put(slot) }
  }

  private mutating func putWideTable(_ entries: [UInt64], _ part: Range<Int>) {
    let count = 2 * part.count
    var slots = [UInt64](repeating: 0, count: 2 * count)
    for index in part {
      var slot = Int((entries[2 * index] >> 8) % UInt64(count))
      while slots[2 * slot + 1] != 0 { slot = slot + 1 == count ? 0 : slot + 1 }
      slots[2 * slot] = entries[2 * index]
      slots[2 * slot + 1] = entries[2 * index + 1]
    }
    for word in slots { buffer.put(word) }
  }
}
