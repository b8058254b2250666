import CairnBytes
import TestSupport
import Testing

struct XXH3Tests {
  @Test(
    arguments: [
      ("", 0x2D06_8005_38D3_94C2),
      ("a", 0xE6C6_32B6_1E96_4E1F),
      ("abc", 0x78AF_5F94_892F_3950),
      ("The quick brown fox jumps over the lazy dog", 0xCE7D_19A5_418F_B365),
    ] as [(String, UInt64)])
  func `known texts have known hashes`(text: String, hash: UInt64) {
    #expect(XXH3.hash64(text) == hash)
    #expect(XXH3.hash64(Array(text.utf8)) == hash)
  }

  @Test(
    arguments: [
      ("", 0x99AA_06D3_0147_98D8_6001_C324_468D_497F),
      ("a", 0xA96F_AF70_5AF1_6834_E6C6_32B6_1E96_4E1F),
      ("abc", 0x06B0_5AB6_733A_6185_78AF_5F94_892F_3950),
      ("The quick brown fox jumps over the lazy dog", 0xDDD6_5020_5CA3_E7FA_24A1_CC2E_3A8A_7651),
    ] as [(String, UInt128)])
  func `known texts have known long hashes`(text: String, hash: UInt128) {
    #expect(XXH3.hash128(Array(text.utf8)) == hash)
    #expect(XXH3.hash128(text) == hash)
  }

  @Test func `a part hashes like a copy of it, and the seed counts`() {
    let bytes = SeededRandom(8).bytes(700)
    for (from, to) in [(0, 0), (0, 700), (3, 20), (100, 650), (700, 700)] {
      let copy = Array(bytes[from..<to])
      #expect(XXH3.hash64(bytes, from..<to, seed: 9) == XXH3.hash64(copy, seed: 9))
      #expect(XXH3.hash128(bytes, from..<to) == XXH3.hash128(copy))
      #expect(XXH3.hash64(copy, seed: 9) != XXH3.hash64(copy, seed: 10))
    }
  }

  @Test func `pieces hash like the whole`() {
    let random = SeededRandom(9)
    let bytes = random.bytes(20_000)
    for count in [0, 1, 16, 17, 128, 129, 240, 241, 255, 256, 1_024, 5_000, 20_000] {
      guard let state = StreamingXXH3() else {
        Issue.record("no memory for a hash")
        return
      }
      var offset = 0
      while offset < count {
        let step = min(1 + random.below(700), count - offset)
        state.update(bytes, offset..<(offset + step))
        offset += step
      }
      let digest = state.digest()
      #expect(digest == XXH3.hash128(bytes, 0..<count))
      state.update([])
      let again = state.digest()
      #expect(again == digest)
    }
  }
}
