import CairnMerge

/// What cuts let through, while a delivery is planned: the book grows with the plan.
struct DeliveryGate {
  /// What a delta may do now.
  enum Answer {
    case pass
    /// It is a cut whose members this device is one of: everything else goes first, so that as much
    /// as possible was there in time.
    case passLast
    case hold(Cut)
  }

  let device: DeviceID
  private(set) var book: CutBook
  private(set) var contexts: [DeviceID: VersionVector]
  let words: CutBook.Words
  /// Cuts and seals that were seen anywhere, applied or not.
  private var known: [Dot: Cut] = [:]
  private var seals: [Dot: VersionVector] = [:]
  /// Cuts still to come that this device can apply as long as it applies nothing beside them that
  /// does not count.
  private var ahead: [Cut] = []

  init(
    device: DeviceID, book: CutBook, contexts: [DeviceID: VersionVector], words: CutBook.Words
  ) {
    self.device = device
    self.book = book
    self.contexts = contexts
    self.words = words
  }

  /// Whether there is anything to decide.
  var isOpen: Bool { book.isEmpty && known.isEmpty }

  mutating func note(_ news: CutTable.News) {
    if let cut = news.cut { known[cut.dot] = cut }
  }

  mutating func note(seal dot: Dot, _ context: VersionVector) {
    if seals[dot] == nil { seals[dot] = context }
  }

  func context(_ step: DeliveryPlan.Step) -> VersionVector {
    var context = contexts[step.dot.device] ?? VersionVector()
    for dot in step.dependencies { context.insert(dot) }
    context.insert(step.dot)
    return context
  }

  func answer(_ step: DeliveryPlan.Step, seen: VersionVector) -> Answer {
    if let cut = book.obstacle(to: step.dot, context: context(step), words: words) {
      return .hold(cut)
    }
    if let cut = spoiled(by: step) { return .hold(cut) }
    guard let cut = step.news?.cut else { return .pass }
    let sealed = withSeal(cut)
    guard CutBook.admits(sealed, at: device, seen: seen, words: words) else {
      return .hold(sealed)
    }
    return cut.members.contains(device) ? .passLast : .pass
  }

  /// All cuts and seals are noted: looks for those that this device is going to apply. Of two that
  /// exclude each other it is the one that goes on.
  mutating func lookAhead(seen: VersionVector) {
    let own = known.values.map(withSeal).filter { cut in
      !seen.contains(cut.dot) && CutBook.admits(cut, at: device, seen: seen, words: words)
        && !cut.members.contains(device)
        && book.cuts.allSatisfy { cut.context.contains($0.dot) || cut.seal?.contains($0.dot) == true }
    }
    for cut in own.sorted(by: { Cut.isBefore($0.line, $1.line) })
    where ahead.allSatisfy({ isBeside($0, cut) }) { ahead.append(cut) }
  }

  /// Whether both can be applied.
  private func isBeside(_ one: Cut, _ other: Cut) -> Bool {
    func admits(_ a: Cut, _ b: Cut) -> Bool {
      b.context.contains(a.dot) || a.members.contains(b.dot.device) && !a.isSealed
        || CutBook.isCovered(VersionVector([b.dot]), by: a, words)
    }
    return admits(one, other) && admits(other, one)
  }

  private func spoiled(by step: DeliveryPlan.Step) -> Cut? {
    if ahead.isEmpty { return nil }
    let context = context(step)
    return ahead.first { cut in
      !context.contains(cut.dot) && !(cut.members.contains(step.dot.device) && !cut.isSealed)
        && !CutBook.isCovered(VersionVector([step.dot]), by: cut, words)
    }
  }

  /// The delta counts from here on.
  mutating func apply(_ step: DeliveryPlan.Step) {
    let context = context(step)
    contexts[step.dot.device] = context
    ahead.removeAll { $0.dot == step.dot }
    guard let news = step.news else { return }
    if let cut = news.cut {
      book.insert(cut)
      if cut.isSealed { dropReplaced(by: cut) }
    }
    for dot in news.seals where dot != step.dot {
      guard var cut = book.cut(dot), !cut.isSealed else { continue }
      cut.seal = context
      book.insert(cut)
      dropReplaced(by: cut)
    }
  }

  private mutating func dropReplaced(by cut: Cut) {
    for old in book.replaced(by: cut) { book.remove(old.dot) }
  }

  private func withSeal(_ cut: Cut) -> Cut {
    var cut = cut
    if cut.seal == nil { cut.seal = seals[cut.dot] }
    return cut
  }

  /// The cut that this device has to give way to, nil if there is none.
  func cutOff(seen: VersionVector) -> Cut? {
    known.values.map(withSeal).filter {
      book.mustYield(to: $0, seen: seen, words: words)
    }.min { Cut.isBefore($0.line, $1.line) }
  }
}
