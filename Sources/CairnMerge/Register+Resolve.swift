/// What a rule makes of a register. Nothing here changes it: another rule decides anew.
extension Register {
  /// The visible value; nil if the field is absent.
  package func visible(_ rule: Rule) -> FieldValue? {
    switch outcome(rule) {
    case .none: nil
    case .winner(let index): value(index, rule)
    case .created: .list(createdValues(rule))
    case .sum(let number): number.value
    }
  }

  /// Which of `lists` is what is visible; nil if that is a value or a list that nobody edited.
  package func visibleList(_ rule: Rule) -> Int? {
    if lists.isEmpty { return nil }
    // Mostly there is one value, and the list is it.
    if entries.count == 1, lists.count == 1 { return 0 }
    switch outcome(rule) {
    case .none, .sum: return nil
    case .winner(let index): return listIndex(entries[index])
    case .created: return lists[lists.count - 1].isCreated ? lists.count - 1 : nil
    }
  }

  /// Whether what is visible is a list that came to be by editing.
  package func showsCreated(_ rule: Rule) -> Bool { visibleEntry(rule)?.isCreated ?? false }

  /// The entry whose value is visible, or one of those that created the visible list.
  func visibleEntry(_ rule: Rule) -> Entry? {
    switch outcome(rule) {
    case .none, .sum: nil
    case .winner(let index): entries[index]
    case .created: entries.first(where: \.isCreated)
    }
  }

  /// The surviving writes whose values are not part of what is visible, in commit order. A value
  /// equal to the winner's has not lost anything; nor have, in a sum, additions, and of the puts
  /// the one that they count from.
  package func losers(_ rule: Rule) -> [Entry] {
    if entries.count < 2 { return [] }
    let visible: FieldValue?
    var isSum = false
    switch outcome(rule) {
    case .none, .created: return []
    case .winner(let winner): visible = value(winner, rule)
    case .sum: (visible, isSum) = (bases.first?.value, true)
    }
    return entries.indices.compactMap { index in
      var entry = entries[index]
      if isSum, entry.isAdd { return nil }
      entry.value = value(index, rule)
      return entry.value == visible ? nil : entry
    }
  }

  /// Surviving writes, in commit order, each with what it stands for now.
  package func survivors(_ rule: Rule, where isWanted: (Entry) -> Bool) -> [Entry] {
    entries.indices.compactMap { index in
      var entry = entries[index]
      guard isWanted(entry) else { return nil }
      entry.value = value(index, rule)
      return entry
    }
  }

  /// What an entry stands for now: of a list that was edited, its items.
  private func value(_ index: Int, _ rule: Rule) -> FieldValue? {
    let entry = entries[index]
    guard !lists.isEmpty, let list = listIndex(entry) else { return entry.value }
    // One that was only opened is what it was: nobody may tell that somebody looked.
    if entry.isCreated, let own = lists[list].untouched?.first(where: { $0.dot == entry.dot }) {
      return .list(own.values)
    }
    return .list(lists[list].values(rule))
  }

  private func createdValues(_ rule: Rule) -> [FieldValue] {
    if let list = lists.last, list.isCreated { return list.values(rule) }
    return entries.flatMap { entry -> [FieldValue] in
      if case .list(let items) = entry.value { items } else { [] }
    }
  }

  private enum Outcome {
    case none
    case winner(Int)
    /// All that is left are lists begun by editing: they are one.
    case created
    case sum(Number)
  }

  /// One survivor stands for itself under every rule, exactly as it was written. A whole value or
  /// a removal beats lists that were begun concurrently.
  private func outcome(_ rule: Rule) -> Outcome {
    if entries.count < 2 {
      guard let entry = entries.first else { return .none }
      return entry.isCreated ? .created : .winner(0)
    }
    let plain = entries.indices.filter { !entries[$0].isCreated }
    guard let first = plain.first, let last = plain.last else { return .created }
    switch rule {
    case .remote: return .winner(first)
    case .local: return .winner(last)
    case .max: return .winner(best(plain) { $0 > 0 })
    case .min: return .winner(best(plain) { $0 < 0 })
    case .sum:
      guard plain.count > 1, plain.allSatisfy({ entries[$0].value.flatMap(Number.init) != nil }),
        let sum
      else { return .winner(first) }
      return .sum(sum)
    }
  }

  /// The first entry in commit order that no other one is better than.
  private func best(_ candidates: [Int], where isBetter: (Int) -> Bool) -> Int {
    var best = candidates[0]
    for index in candidates.dropFirst()
    where isBetter(FieldValue.ordered(value(index, .remote), value(best, .remote))) {
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
