import CairnBytes
import TestSupport
import Testing

/// What indexes, searches and counters stand on.
struct ByteOrderTests {
  /// Whether two contents compare as they should, with other bytes around them.
  private func isRight(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    let wanted = a.lexicographicallyPrecedes(b) ? -1 : b.lexicographicallyPrecedes(a) ? 1 : 0
    let (left, right) = ([9, 9, 9] + a + [1], [7] + b + [200])
    let found = left.order(3..<(3 + a.count), right, 1..<(1 + b.count))
    let reverse = right.order(1..<(1 + b.count), left, 3..<(3 + a.count))
    return found == wanted && reverse == -wanted
  }

  @Test func `ranges are in the order of their bytes, a shorter one first`() {
    let random = SeededRandom(21)
    var wrong = 0
    for length in 0...20 {
      let bytes = random.bytes(length)
      for end in 0...length where !isRight(bytes, Array(bytes[..<end])) { wrong += 1 }
      for index in bytes.indices {
        for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
          var bent = bytes
          bent[index] = value
          if !isRight(bytes, bent) { wrong += 1 }
          // What comes behind the first difference says nothing.
          for later in bent.indices where later > index { bent[later] ^= 0xFF }
          if !isRight(bytes, bent) { wrong += 1 }
        }
      }
    }
    #expect(wrong == 0)
  }

  @Test func `a word is found where it first begins, and whole`() {
    let text = Array("CAIRNREF".utf8)
    let word = text.u64(at: 0)
    for before in 0..<20 {
      let bytes = [UInt8](repeating: 0x43, count: before) + text + text + [0x43]
      #expect(bytes.firstIndex(ofWord: word, from: 0) == before)
      #expect(bytes.firstIndex(ofWord: word, from: before) == before)
      #expect(bytes.firstIndex(ofWord: word, from: before + 1) == before + 8)
      #expect(bytes.firstIndex(ofWord: word, from: before + 9) == nil)
      #expect(bytes.firstIndex(ofWord: word, from: bytes.count + 5) == nil)
      let cut = Array(bytes[..<(before + 7)])
      #expect(cut.firstIndex(ofWord: word, from: 0) == nil)
    }
  }

  @Test func `a number that somebody counts on from has an end`() throws {
    for value in [0, 1, ByteReader.counterMax] as [UInt64] {
      var bytes: [UInt8] = []
      bytes.putVarint(value)
      var reader = ByteReader(bytes)
      #expect(try reader.counter() == value)
    }
    for value in [ByteReader.counterMax + 1, UInt64.max] {
      var bytes: [UInt8] = []
      bytes.putVarint(value)
      var reader = ByteReader(bytes)
      #expect(throws: DecodeError.limit) { try reader.counter() }
    }
  }
}
