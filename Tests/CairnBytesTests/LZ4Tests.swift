import CairnBytes
import TestSupport
import Testing

struct LZ4Tests {
  @Test func `what packs unpacks to the same bytes`() throws {
    let random = SeededRandom(5)
    for _ in 0..<300 {
      let count = 64 + random.below(5_000)
      let alphabet = 1 + random.below(60)
      let bytes = (0..<count).map { _ in UInt8(random.below(alphabet)) }
      var out: [UInt8] = [1, 2, 3]
      guard LZ4.pack(bytes, 10..<count, into: &out) else {
        #expect(out == [1, 2, 3])
        continue
      }
      #expect(out.count - 3 <= (count - 10) - (count - 10) / 16)
      #expect(try LZ4.unpack(out, 3..<out.count, count: count - 10) == Array(bytes[10...]))
    }
  }

  @Test func `what does not pay is not packed`() {
    var out: [UInt8] = []
    let noise = SeededRandom(6).bytes(4_096)
    #expect(!LZ4.pack(noise, 0..<noise.count, into: &out))
    let short = [UInt8](repeating: 0, count: 63)
    #expect(!LZ4.pack(short, 0..<63, into: &out))
    #expect(!LZ4.pack(short, 0..<0, into: &out))
    #expect(out.isEmpty)
  }

  @Test func `a block made by hand unpacks`() throws {
    // Five literals; then one literal, a match of 4 + 15 + 3 one byte back, five literals.
    let literals: [UInt8] = [0x50] + Array("hello".utf8)
    #expect(try LZ4.unpack(literals, 0..<6, count: 5) == Array("hello".utf8))
    let run: [UInt8] = [0x1F, 0x61, 0x01, 0x00, 0x03, 0x50] + Array("hello".utf8)
    let expected = [UInt8](repeating: 0x61, count: 23) + Array("hello".utf8)
    #expect(try LZ4.unpack(run, 0..<run.count, count: 28) == expected)
  }

  /// Found by the fuzzer: the library makes zeros of such a match, which no other reader has to.
  @Test func `a match that is no bytes back is refused`() throws {
    let tail = Array("hello, hello, hello!".utf8)
    let last: [UInt8] = [0xF0, 5] + tail
    for more in 0..<15 {
      for offset in 0..<3 as Range<UInt8> {
        let block = [0x20 | UInt8(more), 0x61, 0x61, offset, 0] + last
        if offset == 0 {
          #expect(throws: DecodeError.self) {
            try LZ4.unpack(block, 0..<block.count, count: 2 + 4 + more + tail.count)
          }
        } else {
          let expected = [UInt8](repeating: 0x61, count: 2 + 4 + more) + tail
          #expect(try LZ4.unpack(block, 0..<block.count, count: expected.count) == expected)
        }
      }
    }
    // Behind a length of several bytes, of literals and of a match.
    let long: [UInt8] = [0xFF, 255, 0] + [UInt8](repeating: 0x62, count: 270)
    let sequences: [UInt8] = long + [1, 0, 255, 7] + [0x12, 0x63]
    let count = 270 + 19 + 262 + 1 + 6 + tail.count
    for offset in [0, 1] as [UInt8] {
      let block = sequences + [offset, 0] + last
      let unpacked = try? LZ4.unpack(block, 0..<block.count, count: count)
      #expect((unpacked != nil) == (offset == 1))
    }
  }

  @Test func `a bomb is refused unless it holds what it declares`() throws {
    // A run of 0x61 as long as it gets: 255 bytes for each byte of the block.
    var bomb: [UInt8] = [0x1F, 0x61, 0x01, 0x00]
    bomb += [UInt8](repeating: 0xFF, count: 4_000)
    bomb += [0x00, 0x50] + Array("hello".utf8)
    let length = 1 + 19 + 4_000 * 255 + 5
    #expect(try LZ4.unpack(bomb, 0..<bomb.count, count: length).count == length)
    for wrong in [0, 1, length - 1, length + 1] {
      #expect(throws: DecodeError.self) { try LZ4.unpack(bomb, 0..<bomb.count, count: wrong) }
    }
  }

  @Test(arguments: [-1, 2_000, 1 << 30, 1 << 31, 1 << 40, Int.max])
  func `an absurd length is refused before memory is taken`(count: Int) {
    #expect(throws: DecodeError.limit) {
      try LZ4.unpack([0x50, 1, 2, 3, 4, 5], 0..<6, count: count)
    }
  }

  @Test func `nothing, and bytes that are not there, unpack to nothing`() {
    #expect(throws: DecodeError.truncated) { try LZ4.unpack([], 0..<0, count: 0) }
    #expect(throws: DecodeError.truncated) { try LZ4.unpack([0x50], 0..<2, count: 5) }
  }

  @Test func `bent blocks never trap and never give another length`() {
    let random = SeededRandom(7)
    let text = Array(String(repeating: "all work and no play ", count: 40).utf8)
    var packed: [UInt8] = []
    #expect(LZ4.pack(text, 0..<text.count, into: &packed))
    for bit in 0..<(packed.count * 8) {
      var bent = packed
      bent[bit / 8] ^= 1 << UInt8(bit % 8)
      if let back = try? LZ4.unpack(bent, 0..<bent.count, count: text.count) {
        #expect(back.count == text.count)
      }
    }
    for length in 0..<packed.count {
      #expect(throws: DecodeError.self) { try LZ4.unpack(packed, 0..<length, count: text.count) }
    }
    for _ in 0..<5_000 {
      let noise = random.bytes(1 + random.below(60))
      let count = random.below(200)
      if let back = try? LZ4.unpack(noise, 0..<noise.count, count: count) {
        #expect(back.count == count)
      }
    }
  }
}
