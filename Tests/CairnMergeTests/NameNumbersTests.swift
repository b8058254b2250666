import TestSupport
import Testing

@testable import CairnMerge

/// Names by number, where there are more of them than are found by comparing.
struct NameNumbersTests {
  @Test func `names begin anew once all were taken away`() {
    for (before, after) in [(20, 17), (17, 20), (40, 3)] {
      var numbers = NameNumbers((0..<before).map { "old\($0)" })
      numbers.removeAll()
      #expect(numbers.count == 0 && numbers.number("old0") == nil)
      for name in 0..<after { numbers.add("new\(name)") }
      for name in 0..<after { #expect(numbers.number("new\(name)") == name) }
      #expect(numbers.number("old0") == nil)
    }
  }

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
