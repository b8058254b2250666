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
    guard let cut = step.news?.cut else { return .pass }
    let sealed = withSeal(cut)
    guard CutBook.admits(sealed, at: device, seen: seen, words: words) else {
      return .hold(sealed)
    }
    return cut.members.contains(device) ? .passLast : .pass
  }

  /// The delta counts from here on.
  mutating func apply(_ step: DeliveryPlan.Step) {
    let context = context(step)
    contexts[step.dot.device] = context
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
