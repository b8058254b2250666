/// What a rule makes of a register. Nothing here changes it: another rule decides anew.
extension Register {
  /// The visible value; nil if the field is absent.
  package func visible(_ rule: Rule) -> FieldValue? {
    switch outcome(rule) {
    case .none: nil
    case .winner(let index): entries[index].value
    case .sum(let number): number.value
    }
  }

  /// The surviving writes whose values are not part of what is visible, in commit order. A value
  /// equal to the winner's has not lost anything.
  package func losers(_ rule: Rule) -> [Entry] {
    guard case .winner(let index) = outcome(rule) else { return [] }
    return entries.filter { $0.value != entries[index].value }
  }

  private enum Outcome {
    case none
    case winner(Int)
    case sum(Number)
  }

  /// One survivor stands for itself under every rule, exactly as it was written.
  private func outcome(_ rule: Rule) -> Outcome {
    if entries.count < 2 { return entries.isEmpty ? .none : .winner(0) }
    switch rule {
    case .remote: return .winner(0)
    case .local: return .winner(entries.count - 1)
    case .max: return .winner(first { $0 > 0 })
    case .min: return .winner(first { $0 < 0 })
    case .sum:
      guard entries.allSatisfy({ $0.value.flatMap(Number.init) != nil }), let sum else {
        return .winner(0)
      }
      return .sum(sum)
    }
  }

  /// The first entry in commit order that no other one is better than.
  private func first(where isBetter: (Int) -> Bool) -> Int {
    var best = 0
    for index in entries.indices.dropFirst()
    where isBetter(FieldValue.ordered(entries[index].value, entries[best].value)) {
      best = index
    }
    return best
  }

  /// The first base and what has been added since, in the order of devices, so that doubles come
  /// out with the same bits everywhere. Nil if the base is not a number.
  var sum: Number? {
    let base = bases.first
    var sum = Number.zero
    if let value = base?.value {
      guard let number = Number(value) else { return nil }
      sum = number
    }
    for total in totals {
      let contained = base?.contained(of: total) ?? .zero
      sum = sum.adding(total.total.subtracting(contained))
    }
    return sum
  }
}
