import TestSupport
import Testing

@testable import CairnMerge

/// Names by number, where there are more of them than are found by comparing.
struct NameNumbersTests {
  @Test func `names keep their numbers, however many there are`() {
    for seed in 0..<40 as Range<UInt64> {
      let random = SeededRandom(seed)
      let most = [10, 16, 17, 18, 60][Int(seed % 5)]
      var model = (0..<random.below(most)).map { "f\($0)" }
      var numbers = NameNumbers(model)
      for _ in 0..<400 {
        let name = "f\(random.below(most))"
        let known = model.firstIndex(of: name)
        #expect(numbers.number(name) == known, "seed \(seed)")
        if known == nil {
          model.append(name)
          numbers.add(name)
          #expect(numbers.number(name) == model.count - 1)
        }
        #expect(numbers.count == model.count)
      }
    }
  }
}
