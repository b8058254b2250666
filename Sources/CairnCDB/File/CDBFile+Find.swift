internal import Cairn
internal import CairnBytes
internal import CairnDisk

extension CDBFile {
  /// The first record of a key. Where only its value is wanted, `look` is quicker.
  func find(_ key: Span<UInt8>) throws(CairnError) -> CDBRecord? {
    try checkOpen()
    let full = CDBHash.full(key)
    var probe = CDBProbe(layout, hash: layout.format.hash(full))
    if let found = try next(&probe, key) { return found }
    guard let other = Self.otherHash(full, layout.format) else { return nil }
    probe = CDBProbe(layout, hash: other)
    return try next(&probe, key)
  }

  /// All records of a key, in the order of the file.
  func findAll(_ key: Span<UInt8>) throws(CairnError) -> [CDBRecord] {
    try checkOpen()
    let full = CDBHash.full(key)
    var found: [CDBRecord] = []
    var hashes = [layout.format.hash(full)]
    if let other = Self.otherHash(full, layout.format) { hashes.append(other) }
    for hash in hashes {
      var probe = CDBProbe(layout, hash: hash)
      while let record = try next(&probe, key) { found.append(record) }
    }
    // A table with slots that wrap around, or repeat, tells nothing about the order.
    var unique: [CDBRecord] = []
    for record in found.sorted(by: { $0.position < $1.position })
    where unique.last != record { unique.append(record) }
    return unique
  }

  /// Files with numbers of 64 bits have hashes of 64 or of 32 bits.
  static func otherHash(_ full: UInt64, _ format: CDBFormat) -> UInt64? {
    guard format == .cdb64, full > 0xFFFF_FFFF else { return nil }
    return CDBFormat.cdb64Hash32.hash(full)
  }

  /// Goes on to the next record of the key. Ends after as many slots as the table has, whatever is
  /// in them.
  func next(
    _ probe: inout CDBProbe, _ key: Span<UInt8>
  ) throws(CairnError) -> CDBRecord? {
    while probe.left > 0 {
      let (hash, position) = try pair(at: probe.slot)
      probe.advance()
      if position == 0 {
        probe.left = 0
        return nil
      }
      if hash == probe.hash, let found = try match(position, key) { return found }
    }
    return nil
  }

  /// The record at a position, if it has that key.
  func match(_ position: UInt64, _ key: Span<UInt8>) throws(CairnError) -> CDBRecord? {
    let lengths = try lengths(at: position)
    if lengths.0 != UInt64(key.count) { return nil }
    let record = try record(at: position, lengths)
    if let isEqual = bytes.equal(at: record.keyStart, key) { return isEqual ? record : nil }
    return try slowEqual(record, key) ? record : nil
  }

  /// The record at a position, whatever key it has.
  func record(at position: UInt64) throws(CairnError) -> CDBRecord {
    try record(at: position, lengths(at: position))
  }

  @inline(__always)
  private func record(
    at position: UInt64, _ lengths: (UInt64, UInt64)
  ) throws(CairnError) -> CDBRecord {
    guard
      let record = CDBRecord(
        position: position, pairSize: layout.format.pairSize, key: lengths.0, value: lengths.1,
        limit: bytes.count)
    else { throw .damaged(path, position, "a record that ends behind the end of the file") }
    return record
  }

  @inline(__always)
  private func lengths(at position: UInt64) throws(CairnError) -> (UInt64, UInt64) {
    guard position >= UInt64(layout.format.headerSize), position < bytes.count else {
      throw .damaged(path, position, "a table points there, where no record can be")
    }
    return try pair(at: position)
  }

  /// Two numbers: a slot, or the lengths of a record.
  func pair(at offset: UInt64) throws(CairnError) -> (UInt64, UInt64) {
    if layout.format == .cdb {
      if let word = bytes.u64(at: offset) { return (word & 0xFFFF_FFFF, word >> 32) }
    } else if let first = bytes.u64(at: offset), let second = bytes.u64(at: offset &+ 8) {
      return (first, second)
    }
    return try slowPair(at: offset)
  }

  /// What is not in memory yet, or not kept there.
  private func slowPair(at offset: UInt64) throws(CairnError) -> (UInt64, UInt64) {
    let size = layout.format.pairSize
    let copy = try part(offset, size)
    return layout.format == .cdb
      ? (UInt64(copy.u32(at: 0)), UInt64(copy.u32(at: 4))) : (copy.u64(at: 0), copy.u64(at: 8))
  }

  private func slowEqual(_ record: CDBRecord, _ key: Span<UInt8>) throws(CairnError) -> Bool {
    let copy = try part(record.keyStart, key.count)
    for index in key.indices where copy[index] != key[index] { return false }
    return true
  }

  /// A copy of a part, all of it; what may be kept is in memory afterwards.
  func part(_ offset: UInt64, _ length: Int) throws(CairnError) -> [UInt8] {
    let copy: [UInt8]
    do { copy = try bytes.copy(offset, length) } catch { throw .disk(error, path) }
    guard copy.count == length else { throw .cutShort(path, offset) }
    return copy
  }
}

/// A walk over the slots in which a key can be.
struct CDBProbe {
  let hash: UInt64
  /// Where the slot is that comes next.
  var slot: UInt64
  /// How many slots were not looked at.
  var left: UInt64
  private let pairSize: UInt64
  private let start: UInt64
  private let end: UInt64

  @inline(__always)
  init(_ layout: CDBLayout, hash: UInt64) {
    let table = layout.tables[Int(truncatingIfNeeded: hash & 255)]
    let (start, slots) = (table.start, table.slots)
    pairSize = layout.pairSize
    self.start = start
    // Tables lie in the file, so none of this overflows.
    end = start &+ slots &* pairSize
    self.hash = hash
    left = slots
    slot = slots == 0 ? start : start &+ Self.remainder(hash >> 8, slots) &* pairSize
  }

  /// A division of 32 bits takes half as long.
  @inline(__always)
  static func remainder(_ value: UInt64, _ count: UInt64) -> UInt64 {
    if (value | count) >> 32 == 0 {
      return UInt64(
        UInt32(truncatingIfNeeded: value) % UInt32(truncatingIfNeeded: count))
    }
    return value % count
  }

  @inline(__always)
  mutating func advance() {
    left &-= 1
    slot &+= pairSize
    if slot == end { slot = start }
  }
}

extension CDBFile {
  /// Whether a record is what tinycdb leaves of one that was replaced (`cdb -c -0`): no key, zeros,
  /// and no table points to it.
  func isErased(
    _ record: CDBRecord, _ walk: inout CDBWalk, _ places: inout CDBPlaces
  ) throws(CairnError) -> Bool {
    guard record.keyLength == 0 else { return false }
    var offset = record.valueStart
    while offset < record.end {
      let length = min(256 << 10, record.end - offset)
      let isZero = try walk.withBytes(offset, length) { bytes, range in
        bytes[range].allSatisfy { $0 == 0 }
      }
      if !isZero { return false }
      offset += length
    }
    return try places.place(of: record, []) == nil
  }
}
