import CairnBytes
import TestSupport
import Testing

/// LZ4 in Swift beside what `LZ4` is: the C library where there is one; and beside the format's
/// definition, for where there is none.
struct PortableLZ4Tests {
  /// Packs, checks that everybody unpacks the same, and returns how many bytes it is, or nil.
  @discardableResult
  private func checkPacking(_ bytes: [UInt8], _ range: Range<Int>? = nil) -> Int? {
    let range = range ?? 0..<bytes.count
    let whole = Array(bytes[range])
    var packed: [UInt8] = [1, 2, 3]
    guard PortableLZ4.pack(bytes, range, into: &packed) else {
      #expect(packed == [1, 2, 3])
      return nil
    }
    #expect(packed.count - 3 <= range.count - range.count / 16)
    let block = 3..<packed.count
    #expect(same(packed, block, whole.count, whole), "\(whole.count) bytes")
    let alone = Array(packed[block])
    #expect(ReferenceLZ4.unpack(alone, whole.count, asWritten: true) == whole)
    return alone.count
  }

  /// Whether both unpack a block to these bytes, or both refuse it, if there are none.
  private func same(
    _ bytes: [UInt8], _ range: Range<Int>, _ count: Int, _ expected: [UInt8]?
  ) -> Bool {
    let own = try? PortableLZ4.unpack(bytes, range, count: count)
    return own == expected && (try? LZ4.unpack(bytes, range, count: count)) == expected
  }

  /// Whether both unpack a block to the same bytes, or both refuse it.
  private func agree(_ block: [UInt8], _ count: Int) -> Bool {
    let own = try? PortableLZ4.unpack(block, 0..<block.count, count: count)
    if let own, own.count != count { return false }
    return own == (try? LZ4.unpack(block, 0..<block.count, count: count))
  }

  private func noise(_ random: SeededRandom, _ count: Int, letters: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(random.below(letters)) }
  }

  // MARK: packing

  @Test func `what is packed unpacks everywhere`() {
    let random = SeededRandom(31)
    for count in 0..<600 {
      for letters in [1, 2, 4, 30, 256] { checkPacking(noise(random, count, letters: letters)) }
    }
    for _ in 0..<200 {
      let bytes = noise(random, 64 + random.below(9_000), letters: 1 + random.below(60))
      checkPacking(bytes, random.below(10)..<(bytes.count - random.below(10)))
    }
  }

  @Test func `what the library packs unpacks`() {
    let random = SeededRandom(32)
    for _ in 0..<400 {
      let bytes = noise(random, 64 + random.below(9_000), letters: 1 + random.below(60))
      var packed: [UInt8] = []
      guard LZ4.pack(bytes, 0..<bytes.count, into: &packed) else { continue }
      #expect(same(packed, 0..<packed.count, bytes.count, bytes))
    }
  }

  /// Words that come again, at distances up to what a match may have and beyond.
  private func prose(_ random: SeededRandom, _ count: Int) -> [UInt8] {
    let words = (0..<3_000).map { _ in random.bytes(2 + random.below(12)) }
    var bytes: [UInt8] = []
    while bytes.count < count {
      bytes += words[min(random.below(3_000), random.below(3_000))] + [32]
      if random.below(200) == 0 { bytes += [UInt8](repeating: 45, count: random.below(900)) }
    }
    return Array(bytes[..<count])
  }

  @Test(arguments: [65_535, 65_536, 65_537, 200_000, 1 << 20])
  func `what is long unpacks everywhere`(count: Int) throws {
    let random = SeededRandom(UInt64(count))
    let bytes = prose(random, count)
    let own = try #require(checkPacking(bytes))
    var packed: [UInt8] = []
    #expect(LZ4.pack(bytes, 0..<bytes.count, into: &packed))
    #expect(same(packed, 0..<packed.count, bytes.count, bytes))
    #expect(Double(own) <= Double(packed.count) * 1.05, "\(own) \(packed.count)")
    #expect(try #require(checkPacking([UInt8](repeating: 7, count: count))) < count / 200)
    #expect(checkPacking(random.bytes(count)) == nil)
  }

  @Test func `a match reaches back 65535 bytes and no further`() throws {
    let random = SeededRandom(33)
    let start = random.bytes(5_000)
    for gap in (65_530 - 5_000)...(65_540 - 5_000) {
      // What lies between packs so well that the whole pays.
      let bytes = start + [UInt8](repeating: 9, count: gap) + start
      let packed = try #require(checkPacking(bytes))
      // Twice the noise, or once and what the steps over the noise left out of the table.
      #expect(gap + 5_000 <= 65_535 || packed > 10_000, "\(gap)")
    }
  }

  @Test func `runs of every period unpack everywhere`() {
    let random = SeededRandom(34)
    for period in 1...40 {
      let unit = random.bytes(period)
      for count in Array(64...140) + [255, 256, 270, 271, 272, 525, 526, 4_099] {
        let head = random.bytes(random.below(20))
        let tail = random.bytes(random.below(20))
        checkPacking(head + (0..<count).map { unit[$0 % period] } + tail)
      }
    }
  }

  @Test func `what does not pay is not packed`() {
    var out: [UInt8] = []
    let noise = SeededRandom(35).bytes(4_096)
    #expect(!PortableLZ4.pack(noise, 0..<noise.count, into: &out))
    let short = [UInt8](repeating: 0, count: 63)
    #expect(!PortableLZ4.pack(short, 0..<63, into: &out))
    #expect(!PortableLZ4.pack(short, 0..<0, into: &out))
    #expect(out.isEmpty)
  }

  /// A text of which so much is noise that packing saves 1/16 or just does not.
  @Test func `the limit is kept to the byte`() {
    let random = SeededRandom(36)
    var hasPacked = false
    var hasNot = false
    for zeros in 0..<200 {
      let bytes = random.bytes(1_500) + [UInt8](repeating: 0, count: zeros) + random.bytes(30)
      if checkPacking(bytes) == nil { hasNot = true } else { hasPacked = true }
    }
    #expect(hasPacked && hasNot)
  }

  @Test(arguments: [1_000, 4_096, 16_384, 60_000, 400_000])
  func `a real text gets about as small as with the library`(size: Int) throws {
    let text = try ProjectFile.bytes("Tools/data/airports/airports.csv")
    let part = text[..<min(text.count, size * 200)]
    let (mine, theirs) = stride(from: 0, to: part.count, by: size).reduce((0, 0)) { sums, start in
      let range = start..<min(start + size, part.count)
      var (own, other): ([UInt8], [UInt8]) = ([], [])
      if !PortableLZ4.pack(text, range, into: &own) { own = Array(text[range]) }
      if !LZ4.pack(text, range, into: &other) { other = Array(text[range]) }
      return (sums.0 + own.count, sums.1 + other.count)
    }
    #expect(Double(mine) <= Double(theirs) * 1.03, "\(mine) \(theirs)")
  }

  // MARK: unpacking

  @Test func `a block made by hand unpacks`() {
    // Five literals; then one literal, a match of 4 + 15 + 3 one byte back, five literals.
    let literals: [UInt8] = [0x50] + Array("hello".utf8)
    #expect(same(literals, 0..<6, 5, Array("hello".utf8)))
    let run: [UInt8] = [0x1F, 0x61, 0x01, 0x00, 0x03, 0x50] + Array("hello".utf8)
    let expected = [UInt8](repeating: 0x61, count: 23) + Array("hello".utf8)
    #expect(same(run, 0..<run.count, 28, expected))
    // The lengths that the description has as examples: 48, 280 and 15 literals.
    for (count, more) in [(48, [33]), (280, [255, 10]), (15, [0])] as [(Int, [UInt8])] {
      let text = SeededRandom(37).bytes(count)
      #expect(same([0xF0] + more + text, 0..<(1 + more.count + count), count, text))
    }
  }

  @Test func `matches that overlap unpack, with every offset and length`() {
    let random = SeededRandom(38)
    for offset in 1...40 {
      for match in Array(4...60) + [270, 274, 275, 1_000] {
        let (head, tail) = (random.bytes(offset + random.below(20)), random.bytes(12))
        var block: [UInt8] = []
        ReferenceLZ4.put(&block, head, offset: offset, match: match)
        ReferenceLZ4.put(&block, tail)
        var expected = head
        for _ in 0..<match { expected.append(expected[expected.count - offset]) }
        expected += tail
        #expect(same(block, 0..<block.count, expected.count, expected), "\(offset) \(match)")
      }
    }
  }

  @Test func `no bytes back, and back beyond the start, is refused`() {
    for literals in 0..<20 {
      for offset in [0, literals + 1, literals + 2, 255, 65_535] {
        for match in 4..<24 {
          var block: [UInt8] = []
          let head = [UInt8](repeating: 5, count: literals)
          ReferenceLZ4.put(&block, head, offset: offset, match: match)
          ReferenceLZ4.put(&block, [UInt8](repeating: 6, count: 40))
          #expect(same(block, 0..<block.count, literals + match + 40, nil))
        }
      }
    }
  }

  /// The rules for the end, which a decoder may be strict about, are taken alike.
  @Test func `the end of a block is judged alike`() {
    let random = SeededRandom(39)
    for before in [0, 1, 9, 40] {
      for literals in 0..<18 {
        for match in 4..<24 {
          for tail in 0..<15 {
            let offset = [1, 3, 7, 8, 9, 16][random.below(6)]
            var block: [UInt8] = []
            let head = random.bytes(20)
            ReferenceLZ4.put(&block, head, offset: 4, match: 4 + before)
            ReferenceLZ4.put(&block, random.bytes(literals), offset: offset, match: match)
            ReferenceLZ4.put(&block, random.bytes(tail))
            let count = 20 + 4 + before + literals + match + tail
            for count in (count - 1)...(count + 1) {
              #expect(agree(block, count), "\(block) \(count)")
            }
          }
        }
      }
    }
  }

  @Test func `truncated and bent blocks are judged alike`() {
    let random = SeededRandom(40)
    let text = prose(random, 700) + Array(String(repeating: "all work and no play ", count: 9).utf8)
    for pack in [PortableLZ4.pack, { LZ4.pack($0, $1, into: &$2) }] {
      var packed: [UInt8] = []
      #expect(pack(text, 0..<text.count, &packed))
      for length in 0..<packed.count {
        let cut = Array(packed[..<length])
        #expect(agree(cut, text.count))
        #expect(throws: DecodeError.self) {
          try PortableLZ4.unpack(cut, 0..<length, count: text.count)
        }
      }
      for place in packed.indices {
        for value in UInt8.min...UInt8.max where place < 60 || value % 5 == 0 {
          var bent = packed
          bent[place] = value
          #expect(agree(bent, text.count))
        }
        for bit in 0..<8 as Range<UInt8> {
          var bent = packed
          bent[place] ^= 1 << bit
          #expect(agree(bent, text.count))
        }
      }
      for _ in 0..<5_000 {
        var bent = packed
        for _ in 0...random.below(4) { bent[random.below(bent.count)] = random.bytes(1)[0] }
        #expect(agree(bent, text.count + random.below(3) - 1))
      }
    }
  }

  @Test func `blocks of noise are judged alike`() {
    let random = SeededRandom(41)
    for _ in 0..<50_000 {
      // Small numbers, which lengths and offsets that fit are made of.
      let noise = (0..<(1 + random.below(60))).map { _ in
        UInt8(random.coin() ? random.below(8) : random.below(256))
      }
      #expect(agree(noise, random.below(120)))
    }
  }

  @Test func `a bomb is refused unless it holds what it declares`() throws {
    var bomb: [UInt8] = [0x1F, 0x61, 0x01, 0x00]
    bomb += [UInt8](repeating: 0xFF, count: 4_000)
    bomb += [0x00, 0x50] + Array("hello".utf8)
    let length = 1 + 19 + 4_000 * 255 + 5
    #expect(try PortableLZ4.unpack(bomb, 0..<bomb.count, count: length).count == length)
    for wrong in [0, 1, length - 1, length + 1] {
      #expect(throws: DecodeError.self) {
        try PortableLZ4.unpack(bomb, 0..<bomb.count, count: wrong)
      }
    }
    // Lengths that never end.
    for first in [0xF0, 0x1F] as [UInt8] {
      let endless = [first, 0x61, 0x01, 0x00] + [UInt8](repeating: 0xFF, count: 4_000)
      #expect(same(endless, 0..<endless.count, 1_000_000, nil))
    }
  }

  @Test(arguments: [-1, 2_000, 1 << 30, 1 << 31, 1 << 40, Int.max])
  func `an absurd length is refused before memory is taken`(count: Int) {
    #expect(throws: DecodeError.limit) {
      try PortableLZ4.unpack([0x50, 1, 2, 3, 4, 5], 0..<6, count: count)
    }
  }

  @Test func `nothing, and bytes that are not there, unpack to nothing`() {
    #expect(throws: DecodeError.truncated) { try PortableLZ4.unpack([], 0..<0, count: 0) }
    #expect(throws: DecodeError.truncated) { try PortableLZ4.unpack([0x50], 0..<2, count: 5) }
  }
}
