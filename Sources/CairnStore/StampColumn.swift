import CairnBytes
import CairnMerge

/// Which stamp of its block each row of a column has: all settled, the same as the row's presence,
/// or a number each.
///
///     form u8 (0: settled, 1: as the presence, 2: numbers of 1 byte, 3: of 2, 4: of 4) · numbers
struct StampColumn: Sendable {
  private let form: UInt8
  private let start: Int

  init(_ reader: inout ByteReader, rows: Int, stamps: Int) throws(DecodeError) {
    form = try reader.u8()
    switch form {
    case 0, 1: start = 0
    case 2, 3, 4:
      start = try reader.skip(rows << Int(form - 2)).lowerBound
      for row in 0..<rows where number(row, self, reader.bytes) >= stamps {
        throw .malformed("a stamp's number")
      }
    default: throw .malformed("unknown form of stamps")
    }
  }

  func number(_ row: Int, _ presences: StampColumn, _ bytes: [UInt8]) -> Int {
    switch form {
    case 1: presences.form >= 2 ? presences.number(row, presences, bytes) : 0
    case 2: Int(bytes[start + row])
    case 3: Int(bytes.u16(at: start + row * 2))
    case 4: Int(bytes.u32(at: start + row * 4))
    default: 0
    }
  }

  static func put(_ numbers: [Int], likePresence presences: [Int]?, into out: inout [UInt8]) {
    if numbers.allSatisfy({ $0 == 0 }) {
      out.put(UInt8(0))
    } else if let presences, presences == numbers {
      out.put(UInt8(1))
    } else {
      let largest = numbers.max() ?? 0
      let form: UInt8 = largest < 1 << 8 ? 2 : largest < 1 << 16 ? 3 : 4
      out.put(form)
      for number in numbers { out.put(UInt64(number), width: 1 << Int(form - 2)) }
    }
  }
}
