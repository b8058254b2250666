import Cairn
import TestSupport
import Testing

/// Steps from one list to another.
@Suite struct ListStepTests {
  private func applied(_ edits: [ListStep<Int>], to list: [Int]) -> [Int] {
    var list = list
    for edit in edits {
      switch edit {
      case .insert(let item, let index): list.insert(item, at: index)
      case .remove(let index): list.remove(at: index)
      case .replace(let index, let item): list[index] = item
      }
    }
    return list
  }

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

  @Test func `the steps lead from any list to any other, and are never more than items`() {
    let random = SeededRandom(20)
    func list() -> [Int] {
      (0..<Int(random.next() % 8)).map { _ in Int(random.next() % 3) }
    }
    for _ in 0..<5000 {
      let (old, new) = (list(), list())
      let edits = ListStep.steps(from: old, to: new)
      #expect(applied(edits, to: old) == new, "\(old) to \(new)")
      #expect(edits.count <= max(old.count, new.count))
    }
  }
}
