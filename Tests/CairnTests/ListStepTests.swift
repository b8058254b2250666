import Cairn
import TestSupport
import Testing

/// Steps from one list to another.
@Suite struct ListStepTests {
  @Test func `what both lists begin and end with stays`() {
    #expect(ListStep.steps(from: [1, 2, 3], to: [1, 2, 3]) == [])
    #expect(ListStep.steps(from: [Int](), to: []) == [])
    #expect(ListStep.steps(from: [1, 2, 3], to: [1, 9, 2, 3]) == [.insert(9, at: 1)])
    #expect(ListStep.steps(from: [1, 2, 3], to: [1, 3]) == [.remove(at: 1)])
    #expect(ListStep.steps(from: [1, 2, 3], to: [1, 9, 3]) == [.replace(at: 1, with: 9)])
    #expect(
      ListStep.steps(from: [1], to: [1, 2, 3]) == [.insert(2, at: 1), .insert(3, at: 2)])
    #expect(ListStep.steps(from: [1, 2], to: [0, 1, 2]) == [.insert(0, at: 0)])
    #expect(ListStep.steps(from: [1, 2, 3], to: []).count == 3)
  }

  @Test func `items that repeat are not counted twice`() {
    #expect(ListStep.steps(from: [1, 1], to: [1, 1, 1]) == [.insert(1, at: 2)])
    #expect(ListStep.steps(from: [1, 1, 1], to: [1]) == [.remove(at: 2), .remove(at: 1)])
    #expect(ListStep.steps(from: [1, 2, 1], to: [1]).count == 2)
  }

  @Test func `what is in the middle is replaced where it differs`() {
    #expect(
      ListStep.steps(from: [0, 1, 2, 3, 9], to: [0, 5, 2, 6, 7, 9])
        == [.replace(at: 1, with: 5), .replace(at: 3, with: 6), .insert(7, at: 4)])
    #expect(
      ListStep.steps(from: [0, 1, 2, 3, 9], to: [0, 5, 9])
        == [.replace(at: 1, with: 5), .remove(at: 3), .remove(at: 2)])
  }

  @Test func `items that both lists have stay what they are`() {
    #expect(
      ListStep.steps(from: [5], to: [1, 5, 9]) == [.insert(1, at: 0), .insert(9, at: 2)])
    #expect(
      ListStep.steps(from: [1, 5, 6, 9], to: [5, 6]) == [.remove(at: 0), .remove(at: 2)])
    #expect(
      ListStep.steps(from: [1, 5, 2], to: [5, 2, 3, 4])
        == [.remove(at: 0), .insert(3, at: 2), .insert(4, at: 3)])
  }

  @Test func `the steps lead from any list to any other, and are never too many`() {
    let random = SeededRandom(20)
    func list() -> [Int] {
      (0..<Int(random.next() % 8)).map { _ in Int(random.next() % 3) }
    }
    for _ in 0..<5000 {
      let (old, new) = (list(), list())
      let steps = ListStep.steps(from: old, to: new)
      #expect(ListStep.applying(steps, to: old) == new, "\(old) to \(new)")
      #expect(steps.count <= new.difference(from: old).count)
    }
  }

  @Test func `lists too long to search are replaced item by item`() {
    let old = Array(0..<2000)
    let new = [-1] + old + [-2]
    let steps = ListStep.steps(from: old, to: new)
    #expect(ListStep.applying(steps, to: old) == new)
    #expect(steps.count == 2002)
    let short = Array(0..<1000)
    #expect(ListStep.steps(from: short, to: [-1] + short + [-2]).count == 2)
  }

  @Test func `a set's list loses and gains items, and none is replaced`() {
    #expect(ListStep.steps(from: [3, 1, 3, 2], toSet: [1, 2, 3]) == [])
    #expect(
      ListStep.steps(from: [3, 1, 3, 2], toSet: [0, 1, 2, 4])
        == [.remove(at: 2), .remove(at: 0), .insert(0, at: 2), .insert(4, at: 3)])
    #expect(ListStep.steps(from: [1], toSet: [2]) == [.remove(at: 0), .insert(2, at: 0)])
    #expect(ListStep.steps(from: [Int](), toSet: []) == [])
  }
}
