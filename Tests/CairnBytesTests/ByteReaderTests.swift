import CairnBytes
import TestSupport
import Testing

struct ByteReaderTests {
  private func sample() -> [UInt8] {
    var out: [UInt8] = []
    out.put(UInt8(1))
    out.put(UInt16(0x0302))
    out.put(UInt32(0x0706_0504))
    out.put(UInt64(0x0F0E_0D0C_0B0A_0908))
    out.putString("naïve")
    out.putBlob([9, 9])
    return out
  }

  @Test func `what was written is read back, least byte first`() throws {
    let bytes = sample()
    #expect(Array(bytes[..<15]) == Array(1...15))
    var reader = ByteReader(bytes)
    #expect(try reader.u8() == 1)
    #expect(try reader.u16() == 0x0302)
    #expect(try reader.u32() == 0x0706_0504)
    #expect(try reader.u64() == 0x0F0E_0D0C_0B0A_0908)
    #expect(try reader.string() == "naïve")
    #expect(try Array(bytes[reader.blob()]) == [9, 9])
    #expect(reader.isAtEnd && reader.remaining == 0)
  }

  @Test func `every truncation is an error`() {
    let bytes = sample()
    for length in 0..<bytes.count {
      var reader = ByteReader(bytes, 0..<length)
      #expect(throws: DecodeError.self, "\(length) bytes") {
        _ = try reader.u8()
        _ = try reader.u16()
        _ = try reader.u32()
        _ = try reader.u64()
        _ = try reader.string()
        _ = try reader.blob()
      }
    }
  }

  @Test func `a reader of a part never sees the rest`() throws {
    let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    var reader = ByteReader(bytes, 2..<4)
    #expect(throws: DecodeError.truncated) { try reader.u32() }
    #expect(throws: DecodeError.truncated) { try reader.skip(3) }
    #expect(throws: DecodeError.truncated) { try reader.skip(-1) }
    #expect(try reader.u16() == 0x0403)
    #expect(throws: DecodeError.truncated) { try reader.u8() }
  }

  @Test func `a range outside the bytes is cut to them`() {
    #expect(ByteReader([1, 2, 3], 1..<100).remaining == 2)
    #expect(ByteReader([1, 2, 3], 50..<100).remaining == 0)
    #expect(ByteReader([1, 2, 3], -5..<2).remaining == 2)
  }

  @Test func `a length beyond the bytes is refused before anything is made`() {
    for length in [2, 1 << 20, 1 << 40, UInt64.max] {
      var bytes: [UInt8] = []
      bytes.putVarint(length)
      bytes.append(7)
      var blob = ByteReader(bytes)
      #expect(throws: DecodeError.limit) { try blob.blob() }
      var text = ByteReader(bytes)
      #expect(throws: DecodeError.limit) { try text.string() }
      var count = ByteReader(bytes)
      #expect(throws: DecodeError.limit) { try count.count() }
      var limited = ByteReader(bytes)
      #expect(throws: DecodeError.limit) { try limited.count(limit: 1) }
    }
  }

  @Test func `a count is no more than what is left can hold`() throws {
    let bytes: [UInt8] = [3, 0, 0, 0, 0, 0, 0]
    var fits = ByteReader(bytes)
    #expect(try fits.count(minimumSize: 2) == 3)
    var tooMany = ByteReader(bytes)
    #expect(throws: DecodeError.limit) { try tooMany.count(minimumSize: 3) }
  }

  @Test func `text that is not UTF-8 is refused`() {
    var reader = ByteReader([2, 0xC0, 0x80])
    #expect(throws: DecodeError.malformed("text is not UTF-8")) { try reader.string() }
  }

  @Test func `ranges are compared byte by byte`() {
    let random = SeededRandom(3)
    let a = random.bytes(40)
    for length in 0...20 {
      for from in 0..<8 {
        var b = Array(a[from..<(from + length)])
        #expect(a.equal(from..<(from + length), b, 0..<length))
        for index in b.indices {
          b[index] ^= 0x10
          #expect(!a.equal(from..<(from + length), b, 0..<length))
          b[index] ^= 0x10
        }
      }
    }
    #expect(!a.equal(0..<3, a, 0..<4))
  }

  @Test func `a width takes the low bytes`() {
    var out: [UInt8] = []
    for width in 0...8 { out.put(0x8877_6655_4433_2211, width: width) }
    #expect(out.count == 36)
    #expect(Array(out[1...2]) == [0x11, 0x22])
    #expect(Array(out[28...]) == [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88])
    out.set(UInt32(0xAABB_CCDD), at: 0)
    #expect(out.u32(at: 0) == 0xAABB_CCDD)
    out.set(UInt64(42), at: 3)
    #expect(out.u64(at: 3) == 42)
  }
}
