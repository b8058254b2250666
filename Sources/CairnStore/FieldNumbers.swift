import CairnMerge

/// Numbers for names of fields, given as they turn up: those that a snapshot's blocks use, and the
/// columns of a table. Names are their bytes.
struct FieldNumbers {
  private(set) var names: [String] = []
  /// Of all names once there are more than a few.
  private var numbers: [ExactName: Int] = [:]
  /// The number after the one found last: records of one kind name their fields in one order, and
  /// so do blocks.
  private var expected = 0

  /// So many are found by comparing names: most tables have no more, and a program's first
  /// dictionary of strings costs more than everything else that a first read takes.
  private static let few = 16

  mutating func number(_ name: String) -> Int {
    if let known = find(name) { return known }
    names.append(name)
    if names.count > FieldNumbers.few {
      for number in numbers.count..<names.count { numbers[ExactName(names[number])] = number }
    }
    expected = names.count
    return names.count - 1
  }

  /// The number of a name, if it has one.
  @inline(__always)
  mutating func find(_ name: String) -> Int? {
    // The next record begins with the first.
    let next = expected < names.count ? expected : 0
    if next < names.count, names[next].isSameName(as: name) {
      expected = next + 1
      return next
    }
    return search(name)
  }

  private mutating func search(_ name: String) -> Int? {
    guard let found = known(name) else { return nil }
    expected = found + 1
    return found
  }

  /// The same for those who only look.
  func known(_ name: String) -> Int? {
    if names.count > FieldNumbers.few { return numbers[ExactName(name)] }
    return names.firstIndex { $0.isSameName(as: name) }
  }
}
