import CairnMerge
import TestSupport
import Testing

/// Behind the fences that cuts give, forgetting is never seen: with the real records, against twins
/// that never forget and against the reference.
struct MembershipRecordTests {
  @Test(arguments: [(2, 8, 4), (3, 9, 4), (4, 10, 5)])
  func `what is forgotten behind a fence is not missed`(
    bounds: (devices: Int, writes: Int, cuts: Int)
  ) throws {
    var fences = 0
    for seed in 0..<120 as Range<UInt64> {
      let world = CutWorld(devices: bounds.devices, writes: bounds.writes, cuts: bounds.cuts)
      var records = CutRecords(world, seed: seed)
      #expect(try records.run(steps: 60), "seed \(seed)")
      #expect(records.doAgree, "seed \(seed)")
      if records.hasFence { fences += 1 }
    }
    #expect(fences > 60)
  }
}
