import CairnDisk
import CairnFuzzEntries
import TestSupport
import Testing

/// Lives of a store that nothing but a seed decides: steps, faults and power cuts. The fuzzer needs
/// longer for as many, and looks elsewhere.
@Suite struct StoreLifeTests {
  /// CAIRN_LIVES: more of them.
  private static let count =
    ProcessEnvironment.value("CAIRN_LIVES").flatMap { UInt64($0) } ?? 1500

  @Test(arguments: [0, 1] as [UInt64])
  func `what was committed is there after any life`(lane: UInt64) async throws {
    var seed = lane
    while seed < Self.count {
      let random = SeededRandom(seed)
      // Verbs first: with every byte as likely there would be few commits between two faults.
      var bytes: [UInt8] = []
      for _ in 0..<(8 + Int(random.next() % 40)) {
        let verbs: [UInt8] = [0, 2, 4, 5, 6, 6, 6, 8, 9, 10, 10, 11]
        bytes.append(verbs[Int(random.next() % 12)])
        bytes.append(UInt8(truncatingIfNeeded: random.next()))
      }
      do { try await FuzzTarget.store.run(bytes) } catch {
        Issue.record("seed \(seed): \(error)")
        return
      }
      seed += 2
    }
  }
}
