package import CairnBytes

/// Whole lists as bytes: count, then the items, each a type byte and its value
/// (int, date: zigzag varint; double: 8 bytes; string, bytes: length and bytes).
package enum ListCoding {
  package static func encode(_ items: [FieldValue], into out: inout [UInt8]) {
    out.putVarint(items.count)
    for item in items {
      switch item {
      case .bool(let flag): out.put(flag ? CellTag.yes : CellTag.no)
      case .int(let number):
        out.put(CellTag.int)
        out.putZigzag(number)
      case .double(let number):
        out.put(CellTag.double)
        out.put(number.canonicalBits)
      case .date(let time):
        out.put(CellTag.date)
        out.putZigzag(time)
      case .string(let text):
        out.put(CellTag.string)
        out.putString(text)
      case .bytes(let bytes):
        out.put(CellTag.bytes)
        out.putBlob(bytes)
      // Refused where values come in.
      case .list: preconditionFailure("a list inside a list reached the encoder")
      }
    }
  }

  /// Whether a cell can hold these items. Merging may make a list longer than that.
  package static func fits(_ items: [FieldValue]) -> Bool {
    // An item takes no more bytes than it counts with.
    let size = items.reduce(0) { $0 + Sizes.listItem + $1.size }
    if size < Cell.heapLengthMax { return true }
    var bytes: [UInt8] = []
    encode(items, into: &bytes)
    return bytes.count <= Cell.heapLengthMax
  }

  /// Decodes bytes from outside; every rule is checked.
  package static func decode(
    _ bytes: [UInt8], _ range: Range<Int>
  ) throws(DecodeError) -> [FieldValue] {
    var reader = ByteReader(bytes, range)
    let count = try reader.count()
    var items: [FieldValue] = []
    items.reserveCapacity(count)
    for _ in 0..<count { items.append(try item(&reader)) }
    guard reader.isAtEnd else { throw .malformed("bytes after the last list item") }
    return items
  }

  private static func item(_ reader: inout ByteReader) throws(DecodeError) -> FieldValue {
    switch try reader.u8() {
    case CellTag.no: return .bool(false)
    case CellTag.yes: return .bool(true)
    case CellTag.int: return .int(try reader.zigzag())
    case CellTag.double:
      let bits = Double(bitPattern: try reader.u64()).canonicalBits
      return .double(Double(bitPattern: bits))
    case CellTag.date: return .date(try reader.zigzag())
    case CellTag.string:
      let range = try reader.blob()
      if range.count == 1, reader.bytes[range.lowerBound] < 0x80 {
        return FieldValue.letters[Int(reader.bytes[range.lowerBound])]
      }
      guard let text = reader.bytes.text(range) else { throw .malformed("text is not UTF-8") }
      return .string(text)
    case CellTag.bytes:
      let range = try reader.blob()
      return .bytes([UInt8](reader.bytes[range]))
    default: throw .malformed("unknown type of a list item")
    }
  }

  /// Decodes a list that was checked when it came in.
  package static func decodeChecked(_ bytes: [UInt8], _ range: Range<Int>) -> [FieldValue] {
    // Why not makes no difference: it was checked.
    guard let items = try? decode(bytes, range) else { preconditionFailure("a list is damaged") }
    return items
  }

  /// Gives every NaN of a checked list the bits that each of them has: early versions wrote them
  /// down as they came. It takes as many bytes as before.
  package static func makeCanonical(_ bytes: inout [UInt8], _ range: Range<Int>) {
    for offset in strayNaNs(bytes, range) {
      let bits = Double.nan.canonicalBits
      for index in 0..<8 {
        bytes[offset + index] = UInt8(truncatingIfNeeded: bits >> UInt64(8 * index))
      }
    }
  }

  /// Where the doubles of a checked list are that are NaN with other bits than those.
  private static func strayNaNs(_ bytes: [UInt8], _ range: Range<Int>) -> [Int] {
    var found: [Int] = []
    var reader = ByteReader(bytes, range)
    do throws(DecodeError) {
      for _ in 0..<(try reader.count()) {
        switch try reader.u8() {
        case CellTag.int, CellTag.date: _ = try reader.varint()
        case CellTag.double:
          let offset = reader.offset
          let bits = try reader.u64()
          if Double(bitPattern: bits).canonicalBits != bits { found.append(offset) }
        case CellTag.string, CellTag.bytes: _ = try reader.blob()
        default: break
        }
      }
    } catch {
      // It was checked when it came in.
    }
    return found
  }

  /// The size that a checked list counts with: 20 for each item, and its own size.
  package static func size(_ bytes: [UInt8], _ range: Range<Int>) -> Int {
    decodeChecked(bytes, range).reduce(0) { $0 + Sizes.listItem + $1.size }
  }
}
