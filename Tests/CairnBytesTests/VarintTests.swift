import CairnBytes
import TestSupport
import Testing

struct VarintTests {
  @Test(
    arguments: [
      (0, [0x00]), (1, [0x01]), (127, [0x7F]), (128, [0x80, 0x01]), (300, [0xAC, 0x02]),
      (16_383, [0xFF, 0x7F]), (16_384, [0x80, 0x80, 0x01]),
      (UInt64.max, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
    ] as [(UInt64, [UInt8])])
  func `known numbers have known bytes`(number: UInt64, bytes: [UInt8]) throws {
    var out: [UInt8] = []
    out.putVarint(number)
    #expect(out == bytes)
    var reader = ByteReader(bytes)
    #expect(try reader.varint() == number)
    #expect(reader.isAtEnd)
  }

  @Test func `all lengths go there and back`() throws {
    let random = SeededRandom(1)
    for _ in 0..<10_000 {
      let number = random.next() >> UInt64(random.below(64))
      var out: [UInt8] = []
      out.putVarint(number)
      out.putZigzag(Int64(bitPattern: number))
      out.putZigzag(0 &- Int64(bitPattern: number))
      var reader = ByteReader(out)
      #expect(try reader.varint() == number)
      #expect(try reader.zigzag() == Int64(bitPattern: number))
      #expect(try reader.zigzag() == 0 &- Int64(bitPattern: number))
      #expect(reader.isAtEnd)
    }
  }

  @Test func `varints are passed over as they are read`() throws {
    for seed in 0..<40 as Range<UInt64> {
      let random = SeededRandom(seed)
      let longest = 1 + random.below(64)
      let numbers = (0..<random.below(60)).map { _ in
        random.next() >> UInt64(64 - 1 - random.below(longest))
      }
      var out: [UInt8] = []
      for number in numbers { out.putVarint(number) }
      for count in 0...numbers.count {
        var (read, passed) = (ByteReader(out), ByteReader(out))
        for _ in 0..<count { _ = try read.varint() }
        try passed.skipVarints(count)
        #expect(read.offset == passed.offset, "\(count), seed \(seed)")
      }
      var beyond = ByteReader(out)
      #expect(throws: DecodeError.truncated) { try beyond.skipVarints(numbers.count + 1) }
    }
  }

  @Test func `none that is too long is passed over`() throws {
    for length in 1...40 {
      for before in 0..<9 {
        for behind in [0, 20] {
          let long = [UInt8](repeating: 0x80, count: length - 1) + [1]
          let ones = [UInt8](repeating: 1, count: before + behind)
          let bytes = ones.prefix(before) + long + ones.suffix(behind)
          var reader = ByteReader(Array(bytes))
          if length <= 10 {
            try reader.skipVarints(before + 1 + behind)
            #expect(reader.isAtEnd)
          } else {
            #expect(throws: DecodeError.overlongVarint) {
              try reader.skipVarints(before + 1 + behind)
            }
          }
        }
      }
    }
  }

  @Test func `what reading refuses is not passed over`() {
    func outcome(_ body: (inout ByteReader) throws -> Void, _ bytes: [UInt8]) -> String {
      var reader = ByteReader(bytes)
      do {
        try body(&reader)
        return "\(reader.offset)"
      } catch { return "\(error)" }
    }
    var refused = 0
    for seed in 0..<2_000 as Range<UInt64> {
      let random = SeededRandom(seed)
      // Mostly such bytes as make a varint wrong.
      let bytes: [UInt8] = (0..<random.below(60)).map { _ in
        random.below(3) == 0 ? UInt8(truncatingIfNeeded: random.next()) : [0, 0x80][random.below(2)]
      }
      let count = random.below(40)
      let read = outcome({ for _ in 0..<count { _ = try $0.varint() } }, bytes)
      #expect(outcome({ try $0.skipVarints(count) }, bytes) == read, "seed \(seed)")
      if read == "overlongVarint" { refused += 1 }
    }
    #expect(refused > 500)
  }

  @Test func `a zigzag keeps small numbers small`() {
    for (number, byte) in [(0, 0), (-1, 1), (1, 2), (-2, 3), (63, 126), (-64, 127)] {
      var out: [UInt8] = []
      out.putZigzag(Int64(number))
      #expect(out == [UInt8(byte)])
    }
  }

  @Test(arguments: [.min, .max, .min + 1, -1] as [Int64])
  func `a zigzag holds the extremes`(number: Int64) throws {
    var out: [UInt8] = []
    out.putZigzag(number)
    var reader = ByteReader(out)
    #expect(try reader.zigzag() == number)
  }

  @Test(
    arguments: [
      [0x80, 0x00], [0x81, 0x80, 0x00],
      [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02],
      [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
      [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
    ] as [[UInt8]])
  func `only the shortest form is a number`(bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    #expect(throws: DecodeError.overlongVarint) { try reader.varint() }
  }

  @Test func `a number that is cut off is truncated`() {
    for length in 0..<10 {
      var reader = ByteReader([UInt8](repeating: 0xFF, count: length))
      #expect(throws: DecodeError.truncated) { try reader.varint() }
    }
  }

  @Test func `random bytes are a number or an error, and numbers are written the same`() {
    let random = SeededRandom(2)
    for _ in 0..<20_000 {
      let bytes = random.bytes(1 + random.below(12))
      var reader = ByteReader(bytes)
      // An error is as good an answer as a number.
      guard let number = try? reader.varint() else { continue }
      var out: [UInt8] = []
      out.putVarint(number)
      #expect(out == Array(bytes[..<reader.offset]))
    }
  }
}
