import CairnBytes
import CairnMerge
import TestSupport
import Testing

struct RecordNameTests {
  @Test func `16 bytes are 22 characters`() {
    #expect(Base64ID.encode(0, 0) == "AAAAAAAAAAAAAAAAAAAAAA")
    #expect(Base64ID.encode(.max, .max) == "_____________________w")
    #expect(
      Base64ID.encode(0x0001_0203_0405_0607, 0x0809_0A0B_0C0D_0E0F) == "AAECAwQFBgcICQoLDA0ODw")
  }

  @Test func `generated ids are packed, and come back`() throws {
    let random = SeededRandom(17)
    for _ in 0..<2_000 {
      let (high, low) = (random.next(), random.next())
      let text = Base64ID.encode(high, low)
      #expect(RecordName(text) == .packed(high, low))
      #expect(RecordName(text).text == text)
    }
  }

  @Test(arguments: [
    "", "a", "AAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAB",
    "AAAAAAAAAAAAAAAAAAAAA=", "AAAAAAAAAAAAAAAAAAAA+A", "AAAAAAAAAAAAAAAAAAAA.A",
    "é01234567890123456789",
  ])
  func `all others are text`(text: String) {
    #expect(RecordName(text) == .text(text))
    #expect(RecordName(text).text == text)
  }

  @Test func `order is that of the bytes, packed ids first`() {
    let random = SeededRandom(18)
    var names: [RecordName] = []
    for _ in 0..<60 { names.append(.packed(random.next() >> 60, random.next())) }
    for text in ["a", "b", "B", "-", "~", "a.b", "ab", "_____________________w0"] {
      names.append(RecordName(text))
    }
    for a in names {
      for b in names {
        #expect((a < b) == (key(a).lexicographicallyPrecedes(key(b))))
      }
    }
  }

  @Test func `the order that people see is that of the texts, packed or not`() {
    let random = SeededRandom(19)
    var names: [RecordName] = []
    // Many with the same eight characters in front, and beyond, and some that end within them.
    for high in [0, 1 << 60, UInt64.max] {
      for _ in 0..<6 { names.append(.packed(high, random.next())) }
    }
    for text in ["a", "aaaaaaaa", "aaaaaaaab", "aaaaaaaaa", "aaaaaaaa-", "AAAAAAAA", "AAAAAAAAA"] {
      names.append(RecordName(text))
    }
    for a in names {
      for b in names {
        #expect(a.textPrecedes(b) == a.text.utf8.lexicographicallyPrecedes(b.text.utf8))
      }
    }
  }

  private func key(_ name: RecordName) -> [UInt8] {
    switch name {
    case .packed(let high, let low):
      var out: [UInt8] = [0]
      out.put(high.byteSwapped)
      out.put(low.byteSwapped)
      return out
    case .text(let text): return [1] + Array(text.utf8)
    }
  }

  /// Part of the snapshot format: these numbers must never change.
  @Test func `hashes are what they were`() {
    #expect(RecordName.mix(0, 0) == 0)
    #expect(RecordName.text("milk").hash == XXH3.hash64("milk"))
    #expect(RecordName.packed(1, 2).hash == RecordName.mix(1, 2))
    #expect(RecordName.mix(1, 2) == 8_409_088_010_112_003_779)
  }

  @Test func `ids that are counters spread`() {
    var pages = [Int](repeating: 0, count: 64)
    for index in 0..<6_400 { pages[Int(RecordName.mix(0, UInt64(index)) >> 58)] += 1 }
    #expect(pages.allSatisfy { $0 > 50 && $0 < 160 })
    pages = [Int](repeating: 0, count: 64)
    for index in 0..<6_400 { pages[Int(RecordName.mix(UInt64(index), 0) >> 58)] += 1 }
    #expect(pages.allSatisfy { $0 > 50 && $0 < 160 })
  }
}
