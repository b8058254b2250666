import CairnBytes
import TestSupport
import Testing

struct UTF8CheckTests {
  private func agrees(_ bytes: [UInt8]) -> Bool {
    bytes.isUTF8(0..<bytes.count) == (String(validating: bytes, as: UTF8.self) != nil)
  }

  @Test func `all first bytes, and all borders of the next, are judged as by the library`() {
    let borders: [UInt8] = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
    var wrong = 0
    for first in UInt8.min...UInt8.max {
      if !agrees([first]) { wrong += 1 }
      for second in borders {
        if !agrees([first, second]) { wrong += 1 }
        if first < 0xDF { continue }
        for third in [0x00, 0x7F, 0x80, 0xBF, 0xC0] as [UInt8] {
          if !agrees([first, second, third]) { wrong += 1 }
          for fourth in [0x7F, 0x80, 0xBF, 0xC0] as [UInt8] {
            if !agrees([first, second, third, fourth]) { wrong += 1 }
          }
        }
      }
    }
    #expect(wrong == 0)
  }

  @Test func `texts that were bent are judged as the standard library does`() {
    let random = SeededRandom(4)
    let texts = ["plain ASCII of more than eight bytes", "naïve façade", "日本語テキスト", "👩‍👩‍👧 🇳🇱", ""]
    var wrong = 0
    for _ in 0..<20_000 {
      var bytes = Array(texts[random.below(texts.count)].utf8)
      for _ in 0..<random.below(3) where !bytes.isEmpty {
        switch random.below(3) {
        case 0: bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.remove(at: random.below(bytes.count))
        default:
          bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: random.below(bytes.count))
        }
      }
      if !agrees(bytes) { wrong += 1 }
    }
    #expect(wrong == 0)
  }

  @Test func `one wrong byte is found wherever it stands in much ASCII`() {
    for length in [40, 64, 71] {
      for place in 0..<length {
        var bytes = [UInt8](repeating: 0x61, count: length)
        bytes[place] = 0xFF
        #expect(!bytes.isUTF8(0..<length), "\(place) of \(length)")
      }
    }
  }

  @Test func `a part is judged alone`() {
    let bytes = Array("aé".utf8)
    #expect(bytes.isUTF8(0..<3))
    #expect(!bytes.isUTF8(0..<2))
    #expect(!bytes.isUTF8(2..<3))
    #expect(bytes.isUTF8(1..<1))
  }
}
