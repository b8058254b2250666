import TestSupport
import Testing

@testable import Cairn

/// Steps from one list to another: right, and as few as there can be.
@Suite struct ListDiffTests {
  private func steps(
    _ old: [Int], _ new: [Int], touched: Set<Int>? = []
  ) -> [ListDiff<Int>.Step] {
    ListDiff(from: old, to: new, touched: touched).steps
  }

  @Test func `single changes are single steps`() {
    #expect(steps([1, 2, 3], [1, 2, 3]) == [])
    #expect(steps([1, 2, 3], [1, 3]) == [.removed(2, at: 1)])
    #expect(steps([1, 3], [1, 2, 3]) == [.inserted(2, at: 1)])
    #expect(steps([1, 2, 3, 4], [2, 3, 1, 4]) == [.moved(1, from: 0, to: 2)])
    #expect(steps([1, 2, 3, 4], [4, 1, 2, 3]) == [.moved(4, from: 3, to: 0)])
    #expect(steps([1, 2], [1, 2], touched: [2, 9]) == [.touched(2, at: 1)])
    #expect(steps([], [1, 2]) == [.inserted(1, at: 0), .inserted(2, at: 1)])
    #expect(steps([1, 2], []) == [.removed(2, at: 1), .removed(1, at: 0)])
  }

  @Test func `what comes is not told as touched, what moves is`() {
    #expect(
      steps([1, 2, 3], [3, 1, 4], touched: nil) == [
        .removed(2, at: 1), .moved(3, from: 1, to: 0), .inserted(4, at: 2), .touched(3, at: 0),
        .touched(1, at: 1),
      ])
  }

  @Test(arguments: 0..<20)
  func `random lists become one another, with as few moves as there can be`(seed: Int) throws {
    let random = SeededRandom(UInt64(seed))
    func list() -> [Int] {
      var pool = Array(0..<12)
      let count = Int(random.next() % 12)
      return (0..<count).map { _ in pool.remove(at: Int(random.next() % UInt64(pool.count))) }
    }
    for _ in 0..<200 {
      let (old, new) = (list(), list())
      let steps = steps(old, new, touched: nil)
      #expect(apply(steps, to: old) == new)
      let staying = new.filter(old.contains)
      let moves = steps.count { if case .moved = $0 { true } else { false } }
      #expect(moves == staying.count - longest(staying.compactMap { old.firstIndex(of: $0) }))
      let removed = steps.count { if case .removed = $0 { true } else { false } }
      #expect(removed == old.count - staying.count)
    }
  }

  /// The length of the longest rising subsequence, slowly.
  private func longest(_ list: [Int]) -> Int {
    var best: [Int] = []
    for (index, value) in list.enumerated() {
      best.append(1 + (0..<index).filter { list[$0] < value }.map { best[$0] }.reduce(0, max))
    }
    return best.reduce(0, max)
  }

  @Test func `lists that are turned round take no more than some seconds`() {
    let old = Array(0..<20_000)
    let steps = steps(old, old.reversed())
    // Too many moves: what moves is taken out and put back.
    #expect(apply(steps, to: old) == old.reversed())
    #expect(steps.count == 2 * 19_999)
  }

  private func apply(_ steps: [ListDiff<Int>.Step], to list: [Int]) -> [Int] {
    var list = list
    for step in steps {
      switch step {
      case .removed(let element, let index): #expect(list.remove(at: index) == element)
      case .inserted(let element, let index): list.insert(element, at: index)
      case .moved(let element, let from, let to):
        #expect(list.remove(at: from) == element)
        list.insert(element, at: to)
      case .touched(let element, let index): #expect(list[index] == element)
      }
    }
    return list
  }
}
