import CairnMerge

/// Cuts and seals that were fetched and not applied so far, of this delivery or an earlier one: a
/// cut and its seal may come in different files, at different times.
struct CutRumours {
  var cuts: [Dot: Cut] = [:]
  /// The context of the delta that seals a cut.
  var seals: [Dot: VersionVector] = [:]
  /// What authors had seen when they wrote the last delta of theirs that was looked at.
  var contexts: [DeviceID: VersionVector] = [:]
  /// Names that devices have left, as far as that was fetched and not applied: what is known of
  /// their words is all that will ever be.
  var left: Set<DeviceID> = []

  /// Forgets what has been applied.
  mutating func drop(seen: VersionVector) {
    cuts = cuts.filter { !seen.contains($0.key) }
    seals = seals.filter { cuts[$0.key] != nil || !seen.contains($0.key) }
    contexts = contexts.filter { $0.value[$0.key] > seen[$0.key] }
  }
}

/// What cuts let through, while a delivery is planned: the book grows with the plan.
struct DeliveryGate {
  /// What a delta may do now.
  enum Answer {
    case pass
    /// It is a cut whose members this device is one of: everything else goes first, so that as much
    /// as possible was there in time.
    case passLast
    case hold(Cut)
    /// It says of itself what is not so.
    case refuse(String)
  }

  let device: DeviceID
  private(set) var book: CutBook
  private(set) var contexts: DeviceContexts
  let words: CutBook.Words
  private(set) var rumours: CutRumours
  /// Something in this delivery is about cuts.
  private(set) var hasNews = false
  /// Cuts still to come that this device can apply as long as it applies nothing beside them that
  /// does not count.
  private(set) var ahead: [Cut] = []

  init(_ state: StoreState, words: CutBook.Words, rumours: CutRumours) {
    device = state.device
    book = state.cuts
    contexts = state.allContexts
    self.words = words
    self.rumours = rumours
    self.rumours.drop(seen: state.vector)
  }

  /// Whether there is nothing to decide.
  var isOpen: Bool { book.isEmpty && rumours.cuts.isEmpty && !hasNews }

  mutating func note(_ news: CutTable.News) {
    hasNews = true
    rumours.left.formUnion(news.left)
  }

  /// Devices whose words are the last.
  private var gone: Set<DeviceID> { rumours.left.union(book.earlierNames.keys) }

  /// Looks for cuts and seals in deltas of a device that come next, in any pack: the steps are
  /// those of one pack. Behind a gap nobody knows what their author had seen, and so whether what
  /// they say is true.
  mutating func noteCuts(_ steps: [DeliveryPlan.Step]) {
    guard let author = steps.first?.dot.device else { return }
    // Nowhere else while it grows: it would be copied for each delta.
    var context = contexts[author] ?? VersionVector()
    if let later = rumours.contexts[author], later[author] > context[author] { context = later }
    var hasGrown = false
    for step in steps {
      guard context[author] &+ 1 == step.dot.sequence else { continue }
      context.insert(step)
      hasGrown = true
      guard let news = step.news, isTrue(news, context) else { continue }
      if let cut = news.cut { rumours.cuts[cut.dot] = cut }
      for seal in news.seals where seal.dot != step.dot && rumours.seals[seal.dot] == nil {
        rumours.seals[seal.dot] = context
      }
    }
    if hasGrown { rumours.contexts[author] = context }
  }

  /// What fences, seals and giving way go by is what a delta's author had seen: it has to be what
  /// its deltas say, which can't be applied before all that is here.
  private func isTrue(_ news: CutTable.News, _ context: VersionVector) -> Bool {
    news.cut?.context ?? context == context && news.seals.allSatisfy { $0.context == context }
  }

  /// Why what a delta says can't be, now that all that it has seen is here.
  private func fault(of step: DeliveryPlan.Step, _ news: CutTable.News) -> String? {
    // A device that is retired is no matter of contexts.
    let saysSeen = news.cut != nil || !news.seals.isEmpty
    if saysSeen, !isTrue(news, context(step)) {
      return "it says that its author had seen what it had not"
    }
    // The record of a cut goes when a sealed one takes its place. (One that is not in the book was
    // replaced here already, and so was all that it replaces.)
    let later =
      news.seals.compactMap { $0.dot == step.dot ? news.cut : book.cut($0.dot) }
    let isStray = news.deleted.contains { dot in
      book.cut(dot) != nil && !later.contains { $0.dot != dot && $0.context.contains(dot) }
    }
    return isStray ? "it deletes what devices have agreed on" : nil
  }

  func context(_ step: DeliveryPlan.Step) -> VersionVector {
    var context = contexts[step.dot.device] ?? VersionVector()
    context.insert(step)
    return context
  }

  /// What a delta's author had seen, to be asked only: put together it would be a copy of all that
  /// the author has ever seen, for each delta.
  private struct Sight {
    let before: VersionVector
    let since: VersionVector

    func contains(_ dot: Dot) -> Bool { before.contains(dot) || since.contains(dot) }
  }

  private func sight(_ step: DeliveryPlan.Step) -> Sight {
    var since = VersionVector()
    since.insert(step)
    return Sight(before: contexts[step.dot.device] ?? VersionVector(), since: since)
  }

  /// Asked when everything that the delta has seen is here.
  func answer(_ step: DeliveryPlan.Step, seen: VersionVector) -> Answer {
    if let reason = step.news.flatMap({ fault(of: step, $0) }) { return .refuse(reason) }
    if !book.isEmpty {
      let sight = sight(step)
      if let cut = book.obstacle(to: step.dot, words: words, hasSeen: sight.contains) {
        return .hold(cut)
      }
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
    let own = rumours.cuts.values.map(withSeal).filter { cut in
      !seen.contains(cut.dot) && CutBook.admits(cut, at: device, seen: seen, words: words)
        && !cut.members.contains(device)
        && book.cuts.allSatisfy {
          cut.context.contains($0.dot) || cut.seal?.contains($0.dot) == true
        }
        && !isLost(cut)
    }
    for cut in own.sorted(by: { Cut.isBefore($0.line, $1.line) })
    where ahead.allSatisfy({ isBeside($0, cut) }) { ahead.append(cut) }
  }

  /// Whether a cut can't be sealed any more, because of a sealed one that it excludes: who applied
  /// it would have to give way at once.
  private func isLost(_ cut: Cut) -> Bool {
    let gone = self.gone
    return rumours.cuts.values.contains { other in
      let other = withSeal(other)
      return other.isSealed && !other.context.contains(cut.dot)
        && other.seal?.contains(cut.dot) != true && !cut.context.contains(other.dot)
        && CutBook.isLost(cut, to: other, words: words, gone: gone)
    }
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
    let sight = sight(step)
    return ahead.first { cut in
      !sight.contains(cut.dot) && !(cut.members.contains(step.dot.device) && !cut.isSealed)
        && !CutBook.isCovered(VersionVector([step.dot]), by: cut, words)
    }
  }

  /// The delta counts from here on.
  mutating func apply(_ step: DeliveryPlan.Step) {
    contexts.change(step.dot.device) { $0.insert(step) }
    ahead.removeAll { $0.dot == step.dot }
    guard let news = step.news else { return }
    if let cut = news.cut {
      book.insert(cut)
      if cut.isSealed { dropReplaced(by: cut) }
    }
    for seal in news.seals where seal.dot != step.dot {
      guard var cut = book.cut(seal.dot), !cut.isSealed else { continue }
      cut.seal = contexts[step.dot.device]
      book.insert(cut)
      dropReplaced(by: cut)
    }
  }

  private mutating func dropReplaced(by cut: Cut) {
    for old in book.replaced(by: cut) { book.remove(old.dot) }
  }

  private func withSeal(_ cut: Cut) -> Cut {
    var cut = cut
    if cut.seal == nil { cut.seal = rumours.seals[cut.dot] }
    return cut
  }

  /// The cut that this device has to give way to, nil if there is none.
  func cutOff(seen: VersionVector) -> Cut? {
    let gone = self.gone
    return rumours.cuts.values.map(withSeal).filter {
      book.mustYield(to: $0, seen: seen, words: words, gone: gone)
    }.min { Cut.isBefore($0.line, $1.line) }
  }
}

extension VersionVector {
  /// Sees a delta, and what its author had seen before. What somebody says to have seen of itself,
  /// only forged ones do.
  fileprivate mutating func insert(_ step: DeliveryPlan.Step) {
    for dot in step.dependencies where dot.device != step.dot.device { insert(dot) }
    insert(step.dot)
  }
}
