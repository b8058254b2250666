/// Names with the numbers that a scope gave them, in order.
///
/// A scope has few names, and deltas use them in one order: what is asked for is mostly the name
/// behind the one before, or the first. Comparing that costs a tenth of hashing it.
struct NameNumbers: Sendable {
  private var names: [String] = []
  /// Of all names once there are more than a few.
  private var numbers: [String: Int] = [:]
  private var expected = 0

  private static let few = 16

  init() {}

  init(_ names: [String]) {
    for name in names { add(name) }
  }

  var count: Int { names.count }

  /// Whether a number is that of a name.
  func isNumber(_ number: Int, of name: String) -> Bool {
    number < names.count && names[number] == name
  }

  /// The number of a name; nil if it has none.
  mutating func number(_ name: String) -> Int? {
    if expected < names.count, names[expected] == name {
      expected += 1
      return expected - 1
    }
    guard let number = search(name) else { return nil }
    expected = number + 1
    return number
  }

  private func search(_ name: String) -> Int? {
    if names.count > NameNumbers.few { return numbers[name] }
    for number in names.indices where names[number] == name { return number }
    return nil
  }

  mutating func removeAll() {
    names.removeAll(keepingCapacity: true)
    if !numbers.isEmpty { numbers.removeAll(keepingCapacity: true) }
    expected = 0
  }

  /// Gives the next number to a name that has none.
  mutating func add(_ name: String) {
    names.append(name)
    if names.count > NameNumbers.few {
      for number in numbers.count..<names.count { numbers[names[number]] = number }
    }
    expected = names.count
  }
}
