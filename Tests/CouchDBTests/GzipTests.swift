import Cairn
import TestSupport
import Testing

@testable import CairnCouchDB
@testable import TestServers

/// Unpacking what gzip packed, piece by piece, and refusing everything else.
@Suite struct GzipTests {
  private func unpacked(_ packed: [UInt8], pieces: Int = 1000) throws(CairnError) -> [UInt8] {
    var reader = GzipReader()
    var out: [UInt8] = []
    for start in stride(from: 0, to: packed.count, by: pieces) {
      let piece = Array(packed[start..<min(start + pieces, packed.count)])
      try reader.feed(piece) { bytes throws(CairnError) in out += bytes }
    }
    try reader.finish()
    return out
  }

  private func sample(_ kind: Int, _ count: Int) -> [UInt8] {
    let random = SeededRandom(UInt64(kind * 1000 + count))
    return switch kind {
    case 0: (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    case 1: (0..<count).map { UInt8(truncatingIfNeeded: $0 % 7 + 97) }
    case 2: (0..<count).map { _ in UInt8(97 + random.below(4)) }
    default: [UInt8](repeating: 0, count: count)
    }
  }

  @Test(arguments: 0..<4, [0, 1, 2, 100, 40_000, 100_000])
  func `what gzip packed is unpacked`(_ kind: Int, _ count: Int) throws {
    let plain = sample(kind, count)
    for level in ["-1", "-6", "-9"] {
      let packed = MemoryCouch.packed(plain, level)
      #expect(!packed.isEmpty)
      #expect(try unpacked(packed, pieces: 7777) == plain)
    }
  }

  @Test func `pieces may be of one byte`() throws {
    for kind in 0..<3 {
      let plain = sample(kind, 3000)
      #expect(try unpacked(MemoryCouch.packed(plain), pieces: 1) == plain)
    }
  }

  @Test func `no damage is taken for content`() throws {
    let plain = sample(2, 2000)
    let packed = MemoryCouch.packed(plain)
    for length in stride(from: 0, to: packed.count, by: 3) {
      #expect(throws: CairnError.self) { try unpacked(Array(packed[..<length])) }
    }
    var harmless = 0
    // Time, flags and system in the head say nothing about the content.
    for place in 10..<packed.count {
      var damaged = packed
      damaged[place] ^= 0x10
      // Behind the last bit of the content a byte is filled with bits that say nothing.
      let found = try? unpacked(damaged)
      if found == plain { harmless += 1 } else { #expect(found == nil, "\(place)") }
    }
    #expect(harmless <= 1)
    #expect(throws: CairnError.self) { try unpacked(packed + [0]) }
  }

  @Test func `noise is refused or unpacked, and never a trap`() {
    let random = SeededRandom(77)
    for _ in 0..<300 {
      var noise: [UInt8] = [0x1F, 0x8B, 8, UInt8(random.below(32)), 0, 0, 0, 0, 0, 3]
      noise += (0..<(20 + random.below(300))).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      #expect(throws: CairnError.self) { try unpacked(noise, pieces: 50) }
    }
  }

  @Test func `what comes behind the end is refused at once`() throws {
    let packed = MemoryCouch.packed(sample(1, 500))
    var reader = GzipReader()
    try reader.feed(packed) { _ throws(CairnError) in }
    #expect(throws: CairnError.self) {
      try reader.feed([UInt8](repeating: 7, count: 1 << 20)) { _ throws(CairnError) in }
    }
    // A single byte more, with the end or behind it.
    var second = GzipReader()
    #expect(throws: CairnError.self) { try second.feed(packed + [0]) { _ throws(CairnError) in } }
  }
}
