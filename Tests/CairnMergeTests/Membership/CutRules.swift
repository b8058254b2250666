import CairnMerge

/// The decisions that a device takes, so that a test can plant an error in one of them.
struct CutRules: Sendable {
  typealias Words = CutBook.Words

  /// May a delta be applied, whatever it carries?
  var admits: @Sendable (CutBook, Dot, VersionVector, Words) -> Bool = {
    $0.obstacle(to: $1, context: $2, words: $3) == nil
  }
  /// May a device that has seen this much apply a cut?
  var admitsCut: @Sendable (Cut, DeviceID, VersionVector, Words) -> Bool = {
    CutBook.admits($0, at: $1, seen: $2, words: $3)
  }
  var isSealable: @Sendable (Cut, VersionVector, Words) -> Bool = {
    CutBook.isSealable($0, seen: $1, words: $2)
  }
  var mustYield: @Sendable (CutBook, Cut, VersionVector, Words, Set<DeviceID>) -> Bool = {
    $0.mustYield(to: $1, seen: $2, words: $3, gone: $4)
  }

  static let real = CutRules()

  // MARK: planted errors

  /// The last member's word is not waited for.
  static let withoutOneMember = CutRules(isSealable: { cut, seen, words in
    var cut = cut
    if cut.members.count > 1 { cut.members.removeLast() }
    return CutBook.isSealable(cut, seen: seen, words: words)
  })

  /// Strangers' deltas are applied beside a cut as if nothing were.
  static let admitsStrangers = CutRules(admits: { _, _, _, _ in true })

  /// Strangers' deltas go on being heard of by others after the cut is sealed.
  static let admitsSealed = CutRules(admits: { book, dot, context, words in
    var open = book
    for var cut in book.cuts {
      cut.seal = nil
      open.insert(cut)
    }
    // Nothing but the authors is asked for.
    return open.cuts.allSatisfy { cut in
      context.contains(cut.dot) || !cut.isSealed && cut.members.contains(dot.device)
        || words.contains { $0.value.contains(dot) }
    }
  })

  /// A device takes over a cut whatever it has applied without it.
  static let withoutGate = CutRules(admitsCut: { _, _, _, _ in true })

  /// Of two groups that have cut each other off both give way.
  static let bothYield = CutRules(mustYield: { _, cut, seen, _, _ in
    cut.seal.map { !seen.contains(cut.dot) && !$0.covers(seen) } ?? false
  })
}
