internal import CairnBytes

/// The part of CBOR (RFC 8949) that `Codable` values need. What is written is in the deterministic
/// form of its section 4.2.1; what is read may be in any, but not of unknown length.
indirect enum CBOR: Equatable, Sendable {
  case unsigned(UInt64)
  /// -1 minus the number.
  case negative(UInt64)
  case bytes([UInt8])
  case text(String)
  case array([CBOR])
  case map([String: CBOR])
  case bool(Bool)
  case null
  case double(Double)

  /// How deep arrays and maps may lie in each other.
  static let deepest = 128

  // MARK: writing

  func append(to bytes: inout [UInt8]) {
    switch self {
    case .unsigned(let value): Self.head(0, value, &bytes)
    case .negative(let value): Self.head(1, value, &bytes)
    case .bytes(let content):
      Self.head(2, UInt64(content.count), &bytes)
      bytes.append(contentsOf: content)
    case .text(let text):
      Self.head(3, UInt64(text.utf8.count), &bytes)
      bytes.putUTF8(text)
    case .array(let items):
      Self.head(4, UInt64(items.count), &bytes)
      for item in items { item.append(to: &bytes) }
    case .map(let members):
      Self.head(5, UInt64(members.count), &bytes)
      // Encoded keys in the order of their bytes: the shorter first, as the length comes first.
      let sorted = members.sorted { a, b in
        a.key.utf8.count != b.key.utf8.count
          ? a.key.utf8.count < b.key.utf8.count
          : a.key.utf8.lexicographicallyPrecedes(b.key.utf8)
      }
      for (name, value) in sorted {
        CBOR.text(name).append(to: &bytes)
        value.append(to: &bytes)
      }
    case .bool(let value): bytes.append(value ? 0xF5 : 0xF4)
    case .null: bytes.append(0xF6)
    case .double(let value):
      // One form for all that are no numbers.
      let bits = value.isNaN ? 0x7FF8_0000_0000_0000 : value.bitPattern
      bytes.append(0xFB)
      bytes.put(bits.byteSwapped)
    }
  }

  private static func head(_ major: UInt8, _ value: UInt64, _ bytes: inout [UInt8]) {
    switch value {
    case 0..<24: bytes.append(major << 5 | UInt8(value))
    case 24..<0x100:
      bytes.append(major << 5 | 24)
      bytes.append(UInt8(value))
    case 0x100..<0x1_0000:
      bytes.append(major << 5 | 25)
      bytes.put(UInt16(value).byteSwapped)
    case 0x1_0000..<0x1_0000_0000:
      bytes.append(major << 5 | 26)
      bytes.put(UInt32(value).byteSwapped)
    default:
      bytes.append(major << 5 | 27)
      bytes.put(value.byteSwapped)
    }
  }

  // MARK: reading

  /// Reads one value that takes all the bytes.
  init(_ bytes: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(bytes)
    self = try Self.read(&reader, depth: 0)
    guard reader.isAtEnd else { throw .malformed("bytes behind the value") }
  }

  private static func read(_ reader: inout ByteReader, depth: Int) throws(DecodeError) -> CBOR {
    guard depth < deepest else { throw .limit }
    let first = try reader.u8()
    if first >> 5 == 7 { return try simple(first & 31, &reader) }
    let value = try number(first & 31, &reader)
    switch first >> 5 {
    case 0: return .unsigned(value)
    case 1: return .negative(value)
    case 2: return .bytes(Array(reader.bytes[try range(value, &reader)]))
    case 3:
      guard let text = reader.bytes.text(try range(value, &reader)) else {
        throw .malformed("a text that is not UTF-8")
      }
      return .text(text)
    case 4:
      let count = try count(value, 1, reader)
      var items: [CBOR] = []
      for _ in 0..<count { items.append(try read(&reader, depth: depth + 1)) }
      return .array(items)
    case 5:
      let count = try count(value, 2, reader)
      var members: [String: CBOR] = [:]
      for _ in 0..<count {
        guard case .text(let name) = try read(&reader, depth: depth + 1) else {
          throw .malformed("a name that is no text")
        }
        guard members.updateValue(try read(&reader, depth: depth + 1), forKey: name) == nil else {
          throw .malformed("a name twice in a map")
        }
      }
      return .map(members)
    default: throw .malformed("a tagged item")
    }
  }

  private static func number(
    _ info: UInt8, _ reader: inout ByteReader
  ) throws(DecodeError) -> UInt64 {
    switch info {
    case 0..<24: return UInt64(info)
    case 24: return UInt64(try reader.u8())
    case 25: return UInt64(try reader.u16().byteSwapped)
    case 26: return UInt64(try reader.u32().byteSwapped)
    case 27: return try reader.u64().byteSwapped
    default: throw .malformed("a length that is not said")
    }
  }

  private static func simple(
    _ info: UInt8, _ reader: inout ByteReader
  ) throws(DecodeError) -> CBOR {
    switch info {
    case 20: return .bool(false)
    case 21: return .bool(true)
    case 22, 23: return .null
    case 26: return .double(Double(Float(bitPattern: try reader.u32().byteSwapped)))
    case 27: return .double(Double(bitPattern: try reader.u64().byteSwapped))
    default: throw .malformed("a simple value that is not known")
    }
  }

  private static func range(
    _ length: UInt64, _ reader: inout ByteReader
  ) throws(DecodeError) -> Range<Int> {
    guard let length = Int(exactly: length), length <= reader.remaining else { throw .truncated }
    defer { reader.offset += length }
    return reader.offset..<(reader.offset + length)
  }

  private static func count(
    _ value: UInt64, _ size: Int, _ reader: ByteReader
  ) throws(DecodeError) -> Int {
    guard let count = Int(exactly: value), count <= reader.remaining / size else {
      throw .truncated
    }
    return count
  }
}
