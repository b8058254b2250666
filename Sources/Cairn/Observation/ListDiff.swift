internal import CairnBytes

/// How one list becomes another: steps to be taken one after the other.
///
/// First what goes, from the back, at its place in the old list; then moves, as few as there can
/// be, each from where the element is by then to where it is after the step; then what comes, from
/// the front, at its place in the new list; then what was touched and stayed, by its place there.
struct ListDiff<Element: Hashable> {
  enum Step: Equatable {
    case removed(Element, at: Int)
    case moved(Element, from: Int, to: Int)
    case inserted(Element, at: Int)
    case touched(Element, at: Int)
  }

  private(set) var steps: [Step] = []

  /// Above this many steps of single elements, elements that move are taken out and put back.
  private static var shiftsMax: Int { 20_000_000 }

  /// No element is twice in a list. `touched`: nil for all.
  init(from old: [Element], to new: [Element], touched: Set<Element>?) {
    // Mostly, nearly everything stays where it is.
    let ends = CommonEnds(old, new)
    let prefix = ends.prefix
    let before = Array(old[prefix..<(old.count - ends.suffix)])
    let after = Array(new[prefix..<(new.count - ends.suffix)])
    let places = Dictionary(
      uniqueKeysWithValues: before.enumerated().map { ($0.element, $0.offset) })
    var staying = Set(after.filter { places[$0] != nil })
    let fixed = ListDiff.longestRun(after.filter(staying.contains), places)
    let movers = staying.count - fixed.count
    if movers * staying.count > ListDiff.shiftsMax { staying = fixed }
    for (index, element) in before.enumerated().reversed() where !staying.contains(element) {
      steps.append(.removed(element, at: prefix + index))
    }
    if staying.count > fixed.count {
      move(before.filter(staying.contains), after.filter(staying.contains), fixed, prefix)
    }
    for (index, element) in after.enumerated() where !staying.contains(element) {
      steps.append(.inserted(element, at: prefix + index))
    }
    let entered = Set(after).subtracting(staying)
    for (index, element) in new.enumerated()
    where touched?.contains(element) != false && !entered.contains(element) {
      steps.append(.touched(element, at: index))
    }
  }

  /// The largest set of elements that are in the same order in both lists.
  private static func longestRun(_ elements: [Element], _ places: [Element: Int]) -> Set<Element> {
    // Patience sorting: `ends[n]` is the element that ends the run of n + 1 with the lowest place.
    var ends: [Int] = []
    var before: [Int?] = []
    let order = elements.map { places[$0] ?? 0 }
    for (index, place) in order.enumerated() {
      let length = ends.partitionPoint { order[$0] >= place }
      before.append(length > 0 ? ends[length - 1] : nil)
      if length < ends.count { ends[length] = index } else { ends.append(index) }
    }
    var run: Set<Element> = []
    var index = ends.last
    while let here = index {
      run.insert(elements[here])
      index = before[here]
    }
    return run
  }

  /// Puts each element that is not in the run behind the one that is before it in the end.
  private mutating func move(
    _ old: [Element], _ new: [Element], _ fixed: Set<Element>, _ offset: Int
  ) {
    var list = old
    var previous: Element?
    for element in new {
      defer { previous = element }
      if fixed.contains(element) { continue }
      guard let from = list.firstIndex(of: element) else { continue }
      list.remove(at: from)
      let to = previous.flatMap { list.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
      list.insert(element, at: to)
      steps.append(.moved(element, from: offset + from, to: offset + to))
    }
  }
}
