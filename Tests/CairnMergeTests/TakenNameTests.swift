import CairnMerge
import Testing

/// What deltas that are equal say of where they come from.
struct TakenNameTests {
  private let device = DeviceID(rawValue: 1)

  private func deltas(_ times: [Int64]) -> [HandmadeDelta] {
    times.indices.map { index in
      var one = HandmadeDelta(device, UInt64(index) + 1)
      one.add("t", records: ["r\(index)"], .put, [.int(Int64(index))])
      one.delta.time = times[index]
      return one
    }
  }

  @Test func `they are the same up to the last one that a clock has dated`() throws {
    let all = deltas([1000, 1001, 1002, 1010, 1011])
    let packs = [HandmadeDelta.pack(Array(all[..<3])), HandmadeDelta.pack(Array(all[3...]))]
    var common = CommonBranch(device)
    try common.add(pack: packs[0], through: 1)
    #expect(common.last == 1 && common.time == 1000)
    let expected: [UInt64] = [0, 0, 0, 3, 3]
    for (count, proven) in expected.enumerated() {
      #expect(try DeltaChain.proven(UInt64(count), behind: common, in: packs) == proven)
    }
    // Of the one before them nothing is known but its number.
    let unknown = CommonBranch(device, through: 3)
    #expect(try DeltaChain.proven(2, behind: unknown, in: packs) == 0)
    #expect(
      try DeltaChain.proven(4, behind: CommonBranch(device, through: 1), in: packs) == 3)
    #expect(try DeltaChain.proven(2, behind: CommonBranch(device), in: packs) == 1)
    #expect(try DeltaChain.beginning(of: packs, behind: 1) == 1001)
    #expect(try DeltaChain.beginning(of: packs, behind: 3) == 1010)
    #expect(try DeltaChain.beginning(of: packs, behind: 5) == nil)
  }
}
