internal import Cairn
internal import CairnBytes

/// The 256 pointers with which a file begins: where the hash tables are.
struct CDBLayout: Sendable {
  /// One of the hash tables.
  struct Table: Sendable {
    /// Where it begins.
    let start: UInt64
    /// How many slots it has.
    let slots: UInt64
  }

  let format: CDBFormat
  /// Bytes of a pair of numbers.
  let pairSize: UInt64
  /// Bytes of the pointers.
  let headerSize: UInt64
  let tables: [Table]
  /// Where the records end.
  let recordsEnd: UInt64
  /// Whether the tables lie one behind the other at the end of the file, where all writers put
  /// them. The format asks for less, only that they lie in the file, and so does this.
  let isExact: Bool

  /// Reads the beginning of a file of `length` bytes. Nil if it is no file of this format.
  private init?(_ header: [UInt8], _ format: CDBFormat, length: UInt64) {
    guard header.count >= format.headerSize else { return nil }
    var tables: [Table] = []
    tables.reserveCapacity(256)
    var end: UInt64?
    var first = length
    var isExact = true
    for number in 0..<256 {
      let place = number * format.pairSize
      let start: UInt64
      let count: UInt64
      if format == .cdb {
        start = UInt64(header.u32(at: place))
        count = UInt64(header.u32(at: place + 4))
      } else {
        start = header.u64(at: place)
        count = header.u64(at: place + 8)
      }
      tables.append(Table(start: start, slots: count))
      if let end, start != end { isExact = false }
      let isInside = start >= UInt64(format.headerSize) && start <= length
      if count == 0 {
        // It has no place of its own: records may lie behind where it says it would be.
        end = start
        continue
      }
      guard isInside, count <= (length - start) / UInt64(format.pairSize) else { return nil }
      first = min(first, start)
      end = start + count * UInt64(format.pairSize)
    }
    if end != length { isExact = false }
    // The first half of a cdb64 looks like a cdb of which all tables are empty; what is empty is as
    // long as its pointers, and these lead nowhere else.
    let isEmpty = tables.allSatisfy { $0.slots == 0 }
    let leadsOut = tables.contains { $0.start > length }
    if isEmpty, length != UInt64(format.headerSize) || leadsOut {
      return nil
    }
    self.format = format
    pairSize = UInt64(format.pairSize)
    headerSize = UInt64(format.headerSize)
    self.tables = tables
    recordsEnd = first
    self.isExact = isExact
  }

  /// Finds out the format, if it isn't given. `header` are the first bytes, 4096 if there are so
  /// many.
  static func read(
    _ header: [UInt8], format: CDBFormat?, length: UInt64, path: String
  ) throws(CairnError) -> CDBLayout {
    var inexact: CDBLayout?
    for candidate in format.map({ [$0] }) ?? [.cdb, .cdb64] {
      guard let found = CDBLayout(header, candidate, length: length) else { continue }
      if found.isExact { return found }
      inexact = inexact ?? found
    }
    if let inexact { return inexact }
    throw CairnError(
      .corrupt,
      "\"\(path)\" is no \(format?.rawValue ?? "cdb") file, or part of one: its \(length) bytes do "
        + "not hold the tables that its beginning names; make it anew, or restore a copy",
      file: path, offset: 0)
  }
}
