import TestSupport
import Testing

@testable import CairnMerge

/// A dictionary by slot, whether its slots are found by comparing or by hashing.
struct SlotMapTests {
  @Test func `it does what a dictionary does, however many there are`() {
    for seed in 0..<40 as Range<UInt64> {
      let random = SeededRandom(seed)
      let most = [4, 8, 9, 10, 40][Int(seed % 5)]
      var map = SlotMap<Int>()
      var model: [UInt32: Int] = [:]
      for step in 0..<600 {
        let slot = UInt32(random.below(most))
        switch random.below(100) {
        case 0:
          map.removeAll()
          model = [:]
        case 1..<40:
          map[slot] = nil
          model[slot] = nil
        default:
          map[slot] = step
          model[slot] = step
        }
        let asked = UInt32(random.below(most))
        #expect(map[asked] == model[asked], "seed \(seed)")
        #expect(map.contains(asked) == (model[asked] != nil), "seed \(seed)")
        #expect(map.count == model.count && map.isEmpty == model.isEmpty, "seed \(seed)")
      }
      let pairs = zip(map.slots, map.values).map { ($0, $1) }
      #expect(Dictionary(uniqueKeysWithValues: pairs) == model, "seed \(seed)")
    }
  }
}
