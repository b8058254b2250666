import CairnBytes
import CairnMerge
import TestSupport
import Testing

struct ListCodingTests {
  private func encoded(_ items: [FieldValue]) -> [UInt8] {
    var out: [UInt8] = []
    ListCoding.encode(items, into: &out)
    return out
  }

  static let full: [FieldValue] = [
    .bool(false), .bool(true), .int(-3), .double(1.5), .date(7), .string("hé"), .bytes([1, 2]),
  ]

  @Test func `a list has known bytes`() {
    #expect(encoded([]) == [0])
    #expect(
      encoded(Self.full) == [
        7, 2, 3, 4, 5, 5, 0, 0, 0, 0, 0, 0, 0xF8, 0x3F, 6, 14, 7, 3, 0x68, 0xC3, 0xA9, 8, 2, 1, 2,
      ])
  }

  @Test func `lists come back, with the same size`() throws {
    let sample = DeltaSample(seed: 50)
    for _ in 0..<500 {
      guard case .list(let items)? = sample.value(7) else { continue }
      let bytes = encoded(items)
      #expect(try FieldValue.list(ListCoding.decode(bytes, 0..<bytes.count)) == .list(items))
      #expect(ListCoding.size(bytes, 0..<bytes.count) == FieldValue.list(items).size)
    }
  }

  /// 0.0 / 0.0 has such bits on x86.
  @Test func `every NaN has the same bytes, and no other number changes`() throws {
    let strays = [0xFFF8_0000_0000_0000, 0x7FF8_0000_0000_0001, 0xFFFF_FFFF_FFFF_FFFF] as [UInt64]
    let kept = [0, 1 << 63, 0x7FF0_0000_0000_0000, 0xFFF0_0000_0000_0000] as [UInt64]
    let right = encoded([.double(.nan)])
    for bits in strays + kept {
      let value = FieldValue.double(Double(bitPattern: bits))
      #expect((encoded([value]) == right) == strays.contains(bits))
      // As it was written down before.
      let others: [FieldValue] = [.date(5), .string("text"), .bytes([1, 2, 3]), .int(-7)]
      var bytes = encoded(others + [.double(1), .bool(true)])
      let start = bytes.count - 9
      for index in 0..<8 {
        bytes[start + index] = UInt8(truncatingIfNeeded: bits >> UInt64(8 * index))
      }
      let expected = encoded(others + [value, .bool(true)])
      let read = try ListCoding.decode(bytes, 0..<bytes.count)
      #expect(encoded(read) == expected)
      if case .double(let number) = read[4] { #expect(number.bitPattern == number.canonicalBits) }
      bytes = [9] + bytes + [9]
      ListCoding.makeCanonical(&bytes, 1..<(bytes.count - 1))
      #expect(bytes == [9] + expected + [9])
    }
  }

  @Test func `of half a list the numbers that are there are mended, and nothing else`() {
    let bytes = encoded([.int(7), .double(1), .string("text"), .double(2)])
    let (first, last) = (bytes.count - 15 - 8, bytes.count - 8)
    for length in 0...bytes.count {
      var (stray, expected) = (bytes, bytes)
      for offset in [first, last] {
        for index in 0..<8 {
          stray[offset + index] = 0xFF
          guard offset + 8 <= length else {
            expected[offset + index] = 0xFF
            continue
          }
          expected[offset + index] = UInt8(
            truncatingIfNeeded: Double.nan.canonicalBits >> UInt64(8 * index))
        }
      }
      ListCoding.makeCanonical(&stray, 0..<length)
      #expect(stray == expected, "\(length)")
    }
  }

  @Test func `truncations, flips and additions never trap`() {
    let bytes = encoded(Self.full)
    for length in 0..<bytes.count {
      #expect(throws: DecodeError.self) { try ListCoding.decode(bytes, 0..<length) }
    }
    #expect(throws: DecodeError.self) { try ListCoding.decode(bytes + [2], 0..<(bytes.count + 1)) }
    for bit in 0..<(bytes.count * 8) {
      var bent = bytes
      bent[bit / 8] ^= 1 << UInt8(bit % 8)
      if let items = try? ListCoding.decode(bent, 0..<bent.count) { #expect(items.count <= 25) }
    }
  }

  @Test(arguments: [0, 1, 9, 10, 255] as [UInt8])
  func `an item that is no value is refused`(tag: UInt8) {
    #expect(throws: DecodeError.malformed("unknown type of a list item")) {
      try ListCoding.decode([1, tag], 0..<2)
    }
  }

  @Test func `a count beyond the bytes is refused`() {
    #expect(throws: DecodeError.limit) { try ListCoding.decode([200, 1, 2], 0..<3) }
  }
}
