import CairnBytes
import CairnLog
import CairnMerge

/// An unpacked block of a snapshot: rows of one table in columns, read in place.
///
///     table number varint · row count varint · ids · stamps · presences · columns · complex rows
///
/// `BlockBuilder` writes it. The bytes were verified by their checksum; here the structure is
/// checked once, so that every later access is within bounds.
final class Block: Sendable {
  let bytes: [UInt8]
  let table: Int
  let rowCount: Int
  private let ids: Ids
  /// Stamp 1 and those behind it; 0 is the settled one.
  private let stamps: [Stamp]
  private let presences: StampColumn
  let columns: [BlockColumn]
  /// Position in `columns` by field number, −1 where the block has none.
  private let positions: [Int32]
  /// Row and bytes of each record in conflict, sorted by row.
  private let complex: [(row: Int, range: Range<Int>)]

  private enum Ids {
    case packed(start: Int)
    case text(ends: [UInt16], start: Int)
  }

  /// `numbers` gives each field name its number, for all blocks of a snapshot.
  init(_ bytes: [UInt8], numbers: inout FieldNumbers) throws(DecodeError) {
    self.bytes = bytes
    var reader = ByteReader(bytes)
    // Compared with the snapshot's tables by who reads the block.
    table = try reader.count(limit: Int(Int32.max))
    let rows = try reader.count(limit: BlockFormat.rowsMax)
    guard rows > 0 else { throw .malformed("a block without rows") }
    rowCount = rows
    ids = try Block.readIds(&reader, rows)
    stamps = try Block.readStamps(&reader)
    presences = try StampColumn(&reader, rows: rows, stamps: 1 + stamps.count)
    let count = try reader.count(minimumSize: 3)
    guard count <= FormatBounds.columnsInTable else { throw .limit }
    var columns: [BlockColumn] = []
    var positions: [Int32] = []
    var last = ""
    for index in 0..<count {
      let name = try reader.string()
      guard Identifier.isValidField(name), name > last else { throw .malformed("a column's name") }
      last = name
      let number = numbers.number(name)
      while positions.count <= number { positions.append(-1) }
      positions[number] = Int32(index)
      columns.append(
        try BlockColumn(&reader, number: number, rows: rows, stamps: 1 + stamps.count))
    }
    self.columns = columns
    self.positions = positions
    complex = try Block.readComplex(&reader, rows)
    guard reader.isAtEnd else { throw .malformed("bytes after a block's end") }
  }

  private static func readIds(_ reader: inout ByteReader, _ rows: Int) throws(DecodeError) -> Ids {
    switch try reader.u8() {
    case 0:
      let range = try reader.skip(rows * 16)
      return .packed(start: range.lowerBound)
    case 1:
      var ends: [UInt16] = []
      var total = 0
      for _ in 0..<rows {
        total += Int(try reader.u8())
        guard total <= Int(UInt16.max) else { throw .limit }
        ends.append(UInt16(total))
      }
      let range = try reader.skip(total)
      guard reader.bytes.isUTF8(range) else { throw .malformed("ids are not UTF-8") }
      return .text(ends: ends, start: range.lowerBound)
    default: throw .malformed("unknown form of ids")
    }
  }

  private static func readStamps(_ reader: inout ByteReader) throws(DecodeError) -> [Stamp] {
    var stamps: [Stamp] = []
    let count = try reader.count(minimumSize: 10)
    for _ in 0..<count {
      let device = DeviceID(rawValue: try reader.u64())
      let sequence = try reader.varint()
      let time = try reader.zigzag()
      guard device.rawValue != 0, sequence > 0 else { throw .malformed("a stamp of no delta") }
      stamps.append(Stamp(dot: Dot(device: device, sequence: sequence), time: time))
    }
    return stamps
  }

  private static func readComplex(
    _ reader: inout ByteReader, _ rows: Int
  ) throws(DecodeError) -> [(row: Int, range: Range<Int>)] {
    let count = try reader.count(minimumSize: 2)
    var result: [(row: Int, range: Range<Int>)] = []
    var next = 0
    for _ in 0..<count {
      let row = next + (try reader.count(limit: BlockFormat.rowsMax))
      guard row < rows else { throw .malformed("a complex row's number") }
      result.append((row, try reader.blob()))
      next = row + 1
    }
    return result
  }

  func name(_ row: Int) -> RecordName {
    switch ids {
    case .packed(let start):
      .packed(
        bytes.u64(at: start + row * 16).byteSwapped,
        bytes.u64(at: start + row * 16 + 8).byteSwapped)
    case .text(let ends, let start):
      .text(
        bytes.checkedText((start + (row == 0 ? 0 : Int(ends[row - 1])))..<(start + Int(ends[row]))))
    }
  }

  @inline(__always)
  func isRow(_ row: Int, _ name: RecordName) -> Bool {
    guard row < rowCount else { return false }
    if case .packed(let start) = ids, case .packed(let high, let low) = name {
      return bytes.u64(at: start + row * 16) == high.byteSwapped
        && bytes.u64(at: start + row * 16 + 8) == low.byteSwapped
    }
    return self.name(row) == name
  }

  @inline(__always)
  func column(_ field: Int) -> BlockColumn? {
    guard field < positions.count, positions[field] >= 0 else { return nil }
    return columns[Int(positions[field])]
  }

  @inline(__always)
  func cell(_ row: Int, _ field: Int) -> Cell {
    guard field < positions.count, positions[field] >= 0 else { return .none }
    return columns[Int(positions[field])].cell(row, bytes)
  }

  func stamp(_ row: Int, _ column: BlockColumn) -> Stamp {
    stamp(column.stamps.number(row, presences, bytes))
  }

  func presence(_ row: Int) -> Stamp { stamp(presences.number(row, presences, bytes)) }

  private func stamp(_ number: Int) -> Stamp { number == 0 ? .settled : stamps[number - 1] }

  var hasComplexRows: Bool { !complex.isEmpty }

  /// The encoded state of a record in conflict, nil for all others.
  func complexState(_ row: Int) -> Range<Int>? {
    if complex.isEmpty { return nil }
    let place = complex.partitionPoint { $0.row >= row }
    return place < complex.count && complex[place].row == row ? complex[place].range : nil
  }

  var complexRows: [Int] { complex.map(\.row) }
}

enum BlockFormat {
  static let rowsMax = 4096
  /// A block is cut at the first row whose hash says so from here on …
  static let cutFrom = 36 << 10
  /// … and at this size whatever the hash says.
  static let cutAt = 62 << 10
  /// One row in 16 may begin a block: cuts depend on the records around them, not on what lies
  /// before, so that a change leaves distant blocks as they are.
  static let cutMask: UInt64 = 15
}
