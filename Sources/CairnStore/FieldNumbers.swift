/// Numbers for the field names that a snapshot's blocks use, given as they turn up.
struct FieldNumbers {
  private(set) var names: [String] = []
  private var numbers: [String: Int] = [:]

  mutating func number(_ name: String) -> Int {
    if let known = numbers[name] { return known }
    numbers[name] = names.count
    names.append(name)
    return names.count - 1
  }
}
