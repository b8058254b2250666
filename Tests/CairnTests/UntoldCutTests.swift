import CairnMerge
import TestSupport
import Testing

@testable import Cairn
@testable import CairnStore

/// What the next sync takes over of one that failed, and what it finds out by itself.
@Suite struct UntoldCutTests {
  @Test func `whom to give way to is not remembered of a sync that failed`() throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    try a.add("r")
    let exchange = try #require(a.exchanger)
    var outcome = SyncOutcome()
    outcome.appliedCount = 3
    // One that nobody knows by now.
    outcome.cutOff = Cut(
      dot: Dot(device: DeviceID(rawValue: 7), sequence: 1), context: VersionVector(), members: [],
      line: [])
    let before = Dot(device: a.store.device, sequence: a.committedDeltas)
    exchange.keepUntold(SyncParts(outcome), since: before)
    #expect(try a.sync().incorporated == 3, "what it did is told")
    #expect(!a.isCutOff)
  }
}
