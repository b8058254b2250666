import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// What came from the folder does not fill the disk, whatever somebody puts there.
@Suite struct QuarantineLimitTests {
  private let clock = ManualClock()
  private let disk: MemoryDisk
  private static let day: Int64 = 86_400_000

  init() throws {
    disk = MemoryDisk(clock: clock)
    try disk.setBytes("/q/0000000000000001-64.torn", [7])
  }

  private func quarantine(_ clock: ManualClock? = nil, bytesMax: UInt64? = nil) -> Quarantine {
    var result = Quarantine(
      directory: "/q",
      machine: Machine(disk: disk, clock: clock ?? self.clock, random: SeededRandom(1)))
    if let bytesMax { result.bytesMax = bytesMax }
    return result
  }

  private func files(_ suffix: String) -> [String] {
    disk.paths().filter { $0.hasPrefix("/q/") && $0.hasSuffix(suffix) }
  }

  private func isKept(_ bytes: [UInt8]) -> Bool {
    files(".bad").contains { disk.bytes($0) == bytes }
  }

  @Test func `of a thousand bad heads the newest are kept, and what was this device's own`() throws
  {
    let quarantine = quarantine()
    quarantine.keepOwn("own.seg", [1, 2, 3], reason: "what only this copy had")
    try disk.setBytes("/blob", [4, 5])
    quarantine.take("/blob", "0.own", reason: "its bytes are not those that its name says")
    let random = SeededRandom(3)
    var last: [[UInt8]] = []
    for _ in 0..<1000 {
      clock.advance(by: 10)
      let bytes = Head.magic + random.bytes(200)
      quarantine.keep("x.head", bytes, reason: "bad")
      last = last.suffix(99) + [bytes]
    }
    #expect(disk.paths().count { $0.hasPrefix("/q/") } <= Quarantine.filesMax + 5)
    #expect(last.allSatisfy(isKept))
    #expect(isKept([1, 2, 3]) && isKept([4, 5]) && files(".torn").count == 1)
    #expect(files(".bad").count == files(".reason").count)
  }

  @Test func `the oldest go when all together are too large`() {
    let quarantine = quarantine(bytesMax: 10_000)
    let all = (0..<8).map { SeededRandom(UInt64($0)).bytes(3000) }
    for bytes in all {
      clock.advance(by: 10)
      quarantine.keep("x.seg", bytes, reason: "bad")
    }
    #expect(all.map(isKept) == [false, false, false, false, false, true, true, true])
  }

  @Test func `after thirty days they go, by this clock and by the files beside them`() {
    quarantine().keep("x.seg", [1], reason: "bad")
    clock.advance(by: 29 * Self.day)
    quarantine().keep("x.seg", [2], reason: "bad")
    #expect(isKept([1]) && isKept([2]))
    // A clock that is wrong is not enough.
    let ahead = ManualClock(clock.now() + 400 * Self.day)
    quarantine(ahead).keep("x.seg", [3], reason: "bad")
    #expect(isKept([1]) && isKept([2]) && isKept([3]))
    clock.advance(by: 2 * Self.day)
    quarantine().keep("x.seg", [4], reason: "bad")
    #expect(!isKept([1]) && isKept([2]) && isKept([3]) && isKept([4]))
  }

  @Test func `texts without a file count, too`() {
    for number in 0..<400 {
      clock.advance(by: 10)
      quarantine().note("x.seg", SeededRandom(UInt64(number)).bytes(50), reason: "bad")
    }
    #expect(files(".reason").count == Quarantine.filesMax)
  }
}
