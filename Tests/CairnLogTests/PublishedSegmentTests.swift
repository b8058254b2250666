import CairnBytes
import CairnLog
import TestSupport
import Testing

struct PublishedSegmentTests {
  private static let datastore: UInt128 = 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100

  private func sample(_ pack: [UInt8]) -> PublishedSegment {
    PublishedSegment(
      datastore: Self.datastore, device: 0x8877_6655_4433_2211, first: 1, last: 2, chainBefore: 0,
      chainAfter: PublishedSegment.chain(0, pack), pack: pack)
  }

  private func read(_ bytes: [UInt8]) throws -> PublishedSegment {
    try PublishedSegment(bytes, name: "x.seg", datastore: Self.datastore)
  }

  /// With the checksums of what it says now.
  private func resummed(_ bytes: [UInt8]) -> [UInt8] {
    var copy = bytes
    copy.set(XXH3.hash64(copy, 0..<104), at: 104)
    let sum = XXH3.hash128(copy, 0..<(copy.count - 16))
    copy.set(UInt64(truncatingIfNeeded: sum), at: copy.count - 16)
    copy.set(UInt64(truncatingIfNeeded: sum >> 64), at: copy.count - 8)
    return copy
  }

  private static let small: [UInt8] = Array("a pack of no importance".utf8)
  private static let large: [UInt8] = Array(String(repeating: "again and ", count: 500).utf8)

  @Test(arguments: [small, large, SeededRandom(15).bytes(5_000)])
  func `it is read as it was written, and named after its bytes`(pack: [UInt8]) throws {
    let segment = sample(pack)
    let (bytes, name) = segment.encoded()
    #expect(try read(bytes) == segment)
    let parsed = try #require(FileName.published(name))
    #expect(parsed.device == segment.device && parsed.first == 1 && parsed.last == 2)
    #expect(parsed.hash == XXH3.hash128(bytes, 0..<(bytes.count - 16)))
  }

  @Test(arguments: [small, large])
  func `every flipped bit and every truncation is an error`(pack: [UInt8]) {
    let (bytes, _) = sample(pack).encoded()
    for bit in 0..<(bytes.count * 8) {
      #expect(throws: LogError.self, "bit \(bit)") { try read(bytes.flipping(bit: bit)) }
    }
    for length in 0..<bytes.count {
      let reason = logFailure { _ = try read(Array(bytes[..<length])) }
      #expect(reason == .truncated, "\(length) bytes")
    }
    #expect(logFailure { _ = try read(bytes + [0]) } == .corrupt)
  }

  @Test func `foreign and newer files are told apart from damaged ones`() {
    let (bytes, _) = sample(Self.small).encoded()
    #expect(
      logFailure { _ = try PublishedSegment(bytes, name: "x", datastore: 1) } == .foreign)
    #expect(logFailure { _ = try read(Array("something else".utf8) + bytes) } == .foreign)
    var floor = bytes
    floor[10] = 3
    #expect(logFailure { _ = try read(resummed(floor)) } == .needsNewerVersion(3))
    var flags = bytes
    flags[12] = 2
    #expect(logFailure { _ = try read(resummed(flags)) } == .needsNewerVersion(2))
    var version = bytes
    version[8] = 9
    #expect(throws: Never.self) { try read(resummed(version)) }
  }

  @Test func `before a device's first delta the chain is 0`() {
    func reason(_ first: UInt64, _ chain: UInt64) -> LogError.Reason? {
      var bytes = sample(Self.small).encoded().bytes
      bytes.set(first, at: 40)
      bytes.set(chain, at: 64)
      return logFailure { _ = try read(resummed(bytes)) }
    }
    #expect(reason(1, 0) == nil)
    #expect(reason(1, 5) == .corrupt)
    #expect(reason(2, 5) == nil)
  }

  @Test func `lies under good checksums are refused`() {
    let (bytes, _) = sample(Self.large).encoded()
    func reason(_ change: (inout [UInt8]) -> Void) -> LogError.Reason? {
      var copy = bytes
      change(&copy)
      return logFailure { _ = try read(resummed(copy)) }
    }
    #expect(reason { $0.set(UInt32.max, at: 56) } == .limit)
    #expect(reason { $0.set(UInt32(60 << 20), at: 56) } == .limit, "a bomb that it can't hold")
    #expect(reason { $0.set(UInt32(4_999), at: 56) } == .corrupt)
    #expect(reason { $0.set(UInt32(5_001), at: 56) } == .corrupt)
    #expect(reason { $0.set(UInt32.max, at: 60) } == .truncated)
    #expect(reason { $0.set(UInt32(0), at: 60) } == .corrupt)
    #expect(reason { $0.set(UInt64(0), at: 32) } == .corrupt, "no device")
    #expect(reason { $0.set(UInt64(0), at: 40) } == .corrupt, "no first")
    #expect(reason { $0.set(UInt64(0), at: 48) } == .corrupt, "no last")
    #expect(reason { $0.set(UInt32(0), at: 12) } == .corrupt, "not packed, they say")
  }
}
