import CairnBytes
import TestSupport
import Testing

/// XXH3 in Swift beside what `XXH3` is: the C library where there is one. The constants are for
/// where there is none.
struct PortableXXH3Tests {
  /// xxHash's own test vectors (XSUM_XXH3_testdata of its command line), as are their bytes.
  private static let vectors: [(count: Int, hash: UInt64, seeded: UInt64)] = [
    (0, 0x2D06_8005_38D3_94C2, 0xA8A6_B918_B2F0_364A),
    (1, 0xC44B_DFF4_074E_ECDB, 0x032B_E332_DD76_6EF8),
    (6, 0x27B5_6A84_CD2D_7325, 0x8458_9C11_6AB5_9AB9),
    (12, 0xA713_DAF0_DFBB_77E7, 0xE730_3E1B_2336_DE0E),
    (24, 0xA3FE_70BF_9D35_10EB, 0x850E_80FC_35BD_D690),
    (48, 0x397D_A259_ECBA_1F11, 0xADC2_CBAA_44AC_C616),
    (80, 0xBCDE_FBBB_2C47_C90A, 0xC6DD_0CB6_9953_2E73),
    (195, 0xCD94_217E_E362_EC3A, 0xBA68_003D_370C_B3D9),
    (403, 0xCDEB_804D_65C6_DEA4, 0x6259_F6EC_FD64_43FD),
    (512, 0x617E_4959_9013_CB6B, 0x3CE4_57DE_14C2_7708),
    (2_048, 0xDD59_E2C3_A5F0_38E0, 0x66F8_1670_669A_BABC),
    (2_099, 0xC6B9_D9B3_FC9A_C765, 0x184F_3168_4366_3974),
    (2_240, 0x6E73_A905_39CF_2948, 0x757B_A848_7D1B_5247),
    (2_367, 0xCB37_AEB9_E5D3_61ED, 0xD2DB_3415_B942_B42A),
  ]

  private static let wideVectors: [(count: Int, hash: UInt128)] = [
    (0, 0x99AA_06D3_0147_98D8_6001_C324_468D_497F),
    (1, 0xA6CD_5E93_9200_0F6A_C44B_DFF4_074E_ECDB),
    (6, 0x082A_FE0B_8162_D12A_3E70_39BD_DA43_CFC6),
    (12, 0x6E3E_FD8F_C780_2B18_061A_1927_13F6_9AD9),
    (24, 0x0CE9_66E4_678D_3761_1E70_44D2_8B1B_901D),
    (48, 0xA002_AC4E_5478_227E_F942_219A_ED80_F67B),
    (81, 0x4952_F581_81AB_0042_5E8B_AFB9_F95F_B803),
    (222, 0x337E_0964_1B94_8717_F1AE_BD59_7CEC_6B3A),
    (403, 0x1B6D_E21E_332D_D73D_CDEB_804D_65C6_DEA4),
    (512, 0x18D2_D110_DCC9_BCA1_617E_4959_9013_CB6B),
    (2_048, 0xF736_557F_D470_73A5_DD59_E2C3_A5F0_38E0),
    (2_240, 0xCCB1_34FB_FA7C_E49D_6E73_A905_39CF_2948),
    (2_367, 0xE89C_0F6F_F369_B427_CB37_AEB9_E5D3_61ED),
  ]

  /// The bytes that xxHash tests itself with.
  private static func vectorBytes(_ count: Int) -> [UInt8] {
    var word: UInt64 = 2_654_435_761
    return (0..<count).map { _ in
      defer { word = word &* 11_400_714_785_074_694_797 }
      return UInt8(word >> 56)
    }
  }

  @Test func `the vectors of xxHash come out`() {
    let bytes = Self.vectorBytes(2_400)
    for (count, hash, seeded) in Self.vectors {
      #expect(PortableXXH3.hash64(bytes, 0..<count) == hash, "\(count)")
      let seed: UInt64 = 11_400_714_785_074_694_797
      #expect(PortableXXH3.hash64(bytes, 0..<count, seed: seed) == seeded, "\(count)")
      #expect(XXH3.hash64(bytes, 0..<count, seed: seed) == seeded, "\(count)")
    }
    for (count, hash) in Self.wideVectors {
      #expect(PortableXXH3.hash128(bytes, 0..<count) == hash, "\(count)")
      #expect(XXH3.hash128(bytes, 0..<count) == hash, "\(count)")
      var state = PortableStreamingXXH3()
      state.update(bytes, 0..<count)
      #expect(state.digest() == hash, "\(count)")
    }
  }

  /// All lengths with four seeds each: their hashes, hashed by something else, are those that the C
  /// library gave.
  @Test func `every length has its known hash`() {
    let bytes = Self.vectorBytes(2_400)
    var hashes: [UInt8] = []
    for count in 0...2_400 {
      for seed in [0, 1, 0x0123_4567_89AB_CDEF, UInt64.max] {
        hashes.put(PortableXXH3.hash64(bytes, 0..<count, seed: seed))
      }
      let wide = PortableXXH3.hash128(bytes, 0..<count)
      hashes.put(UInt64(truncatingIfNeeded: wide))
      hashes.put(UInt64(truncatingIfNeeded: wide >> 64))
    }
    #expect(
      SHA256.hash(hashes).hex
        == "402b46f710168d6eb065668d05fb536a9ca847fd5b410de919ef4e8a2a3af131")
  }

  @Test func `every length hashes like it does elsewhere, wherever it lies`() {
    let random = SeededRandom(21)
    let bytes = random.bytes(2_200)
    for count in 0...2_100 {
      for seed in [0, 1, 0x8000_0000_0000_0000, UInt64.max, random.next()] {
        let start = random.below(70)
        let range = start..<(start + count)
        let (own, other) = (
          PortableXXH3.hash64(bytes, range, seed: seed), XXH3.hash64(bytes, range, seed: seed)
        )
        #expect(own == other, "\(range), seed \(seed)")
      }
      let start = random.below(70)
      let range = start..<(start + count)
      let (own, other) = (PortableXXH3.hash128(bytes, range), XXH3.hash128(bytes, range))
      #expect(own == other, "\(range)")
    }
  }

  @Test func `what is long hashes like it does elsewhere`() {
    let random = SeededRandom(22)
    let bytes = random.bytes(70_000)
    var counts = [69_999, 70_000]
    for end in stride(from: 1_024, through: 65_536, by: 1_024) {
      counts += [end - 64, end - 1, end, end + 1]
    }
    for count in counts {
      let start = random.below(70_001 - count)
      let range = start..<(start + count)
      let seed = random.next()
      #expect(PortableXXH3.hash64(bytes, range) == XXH3.hash64(bytes, range))
      let (own, other) = (
        PortableXXH3.hash64(bytes, range, seed: seed), XXH3.hash64(bytes, range, seed: seed)
      )
      #expect(own == other)
      #expect(PortableXXH3.hash128(bytes, range) == XXH3.hash128(bytes, range))
    }
    // All bits set, where sums and products carry most.
    let ones = [UInt8](repeating: 0xFF, count: 5_000)
    for count in stride(from: 0, through: 5_000, by: 7) {
      let range = 0..<count
      #expect(PortableXXH3.hash64(ones, range, seed: 1) == XXH3.hash64(ones, range, seed: 1))
      #expect(PortableXXH3.hash128(ones, range) == XXH3.hash128(ones, range))
    }
  }

  @Test func `pieces hash like the whole, however it is cut`() {
    let random = SeededRandom(23)
    let bytes = random.bytes(20_000)
    let sizes = [0, 1, 3, 63, 64, 65, 240, 241, 255, 256, 257, 1_023, 1_024, 1_025, 2_048, 3_000]
    for round in 0..<400 {
      // Some all of one size, and some of all sizes.
      let size = round < sizes.count ? max(1, sizes[round]) : nil
      let count = round % 4 == 0 ? random.below(700) : random.below(bytes.count)
      var state = PortableStreamingXXH3()
      var offset = 0
      while offset < count {
        let step = size ?? (random.coin() ? sizes[random.below(sizes.count)] : random.below(1_500))
        let end = min(offset + step, count)
        state.update(bytes, offset..<end)
        offset = end
        // Asking changes nothing.
        if random.below(8) == 0 {
          #expect(state.digest() == XXH3.hash128(bytes, 0..<offset), "\(offset)")
        }
      }
      state.update([])
      #expect(state.digest() == XXH3.hash128(bytes, 0..<count), "\(count)")
    }
  }

  @Test func `every length hashes like the whole when it comes in two pieces`() {
    let bytes = SeededRandom(24).bytes(2_400)
    for count in 0...2_400 {
      let cut = count * (count % 7) / 7
      var state = PortableStreamingXXH3()
      state.update(bytes, 0..<cut)
      var other = state
      state.update(bytes, cut..<count)
      #expect(state.digest() == XXH3.hash128(bytes, 0..<count), "\(cut) of \(count)")
      // A copy of a state goes its own way.
      other.update(bytes, 0..<1)
      #expect(other.digest() == XXH3.hash128(Array(bytes[0..<cut]) + [bytes[0]]), "\(cut)")
    }
  }

  @Test func `a state that is begun goes on as it began`() {
    let bytes = SeededRandom(25).bytes(3_000)
    guard let state = StreamingXXH3() else {
      Issue.record("no memory for a hash")
      return
    }
    var portable = PortableStreamingXXH3()
    for start in stride(from: 0, to: 3_000, by: 100) {
      state.update(bytes, start..<(start + 100))
      portable.update(Array(bytes[start..<(start + 100)]))
      let expected = state.digest()
      #expect(portable.digest() == expected)
    }
  }
}
