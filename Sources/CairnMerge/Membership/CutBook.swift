/// The cuts that a device has applied, and what follows from them: what it may apply, what is
/// stable, when a cut is sealed, and when the device itself was cut off.
///
/// All answers come from the cuts and from *words*: for some devices a vector that they are known
/// to have applied at some time. A word may be old. Nothing that it says becomes wrong.
package struct CutBook: Hashable, Sendable {
  package typealias Words = [DeviceID: VersionVector]

  /// Sorted by dot.
  package private(set) var cuts: [Cut] = []
  /// Devices that somebody has retired.
  package var retired: Set<DeviceID> = []
  /// Names that devices have left to give way, by the name that was left.
  package var earlierNames: [DeviceID: EarlierName] = [:]
  /// Which deltas are there once more under the next name, by the name that was left: what
  /// `DeltaChain.values(behind:in:)` says of them.
  package var moved: [DeviceID: [UInt64]] = [:]

  package init() {}

  package var isEmpty: Bool { cuts.isEmpty }

  /// Whether there is a cut that is not sealed.
  package var hasOpen: Bool { cuts.contains { !$0.isSealed } }

  package func cut(_ dot: Dot) -> Cut? { cuts.first { $0.dot == dot } }

  /// Adds a cut, or what is known of it now.
  package mutating func insert(_ cut: Cut) {
    if let index = cuts.firstIndex(where: { $0.dot == cut.dot }) {
      cuts[index] = cut
    } else {
      cuts.insert(cut, at: cuts.firstIndex { cut.dot < $0.dot } ?? cuts.count)
    }
  }

  package mutating func remove(_ dot: Dot) { cuts.removeAll { $0.dot == dot } }

  /// Everything behind a sealed cut: every delta that is still to be applied has seen it. It
  /// depends on nothing but the deltas that are here, so that devices with the same deltas have
  /// the same fence.
  package var fence: VersionVector {
    var fence = VersionVector()
    for cut in cuts where cut.isSealed { fence.merge(cut.context) }
    return fence
  }

  // MARK: what may be applied

  /// Why a delta may not be applied, nil if it may be: the cut that it has not seen.
  package func obstacle(to dot: Dot, context: VersionVector, words: Words) -> Cut? {
    obstacle(to: dot, words: words, hasSeen: context.contains)
  }

  /// The same for a delta whose author is asked what it had seen.
  package func obstacle(to dot: Dot, words: Words, hasSeen: (Dot) -> Bool) -> Cut? {
    cuts.first { cut in
      !hasSeen(cut.dot) && !CutBook.admits(dot, without: cut, words: words)
    }
  }

  /// Whether a delta that has not seen a cut counts beside it: a member wrote it, or had heard of
  /// it before the cut. Once the cut is sealed all such deltas are here.
  static func admits(_ dot: Dot, without cut: Cut, words: Words) -> Bool {
    if cut.isSealed { return false }
    return cut.members.contains(dot.device) || isCovered(VersionVector([dot]), by: cut, words)
  }

  /// Whether a device that has seen this much may apply a cut: what it has seen without the cut
  /// counts for all others, too. A member may always.
  package static func admits(
    _ cut: Cut, at device: DeviceID, seen: VersionVector, words: Words
  ) -> Bool {
    cut.members.contains(device) || isCovered(seen, by: cut, words)
  }

  /// Whether all these deltas are among those that count beside the cut or after it: its author
  /// had seen them, or a member had, or anyone who has applied the cut.
  package static func isCovered(_ seen: VersionVector, by cut: Cut, _ words: Words) -> Bool {
    var cover = cut.context
    if let seal = cut.seal { cover.merge(seal) }
    if cover.covers(seen) { return true }
    for (device, word) in words where cut.members.contains(device) || word.contains(cut.dot) {
      cover.merge(word)
    }
    return cover.covers(seen)
  }

  /// What of this much counts for those who have applied these cuts, if it was all seen without
  /// them; nil if everything does. The rest they will never apply.
  package func admitted(of seen: VersionVector) -> VersionVector? {
    var admitted: VersionVector?
    for cut in cuts where !seen.contains(cut.dot) {
      if let seal = cut.seal { admitted = admitted?.meet(seal) ?? seal }
    }
    return admitted
  }

  /// Whether nobody has to wait for a device any more: it was retired, and what it wrote without
  /// having seen a sealed cut that leaves it out is either here or will never be applied.
  ///
  /// - Parameters:
  ///   - seen: What is here.
  ///   - word: What the device has said last; one that has applied the cut is back.
  package func isLeftOut(
    _ device: DeviceID, seen: VersionVector, word: VersionVector?
  ) -> Bool {
    retired.contains(device)
      && cuts.contains { cut in
        guard let seal = cut.seal, !cut.members.contains(device) else { return false }
        return seal[device] >= seen[device] && word?.contains(cut.dot) != true
      }
  }

  // MARK: sealing

  /// Whether a cut can be sealed by a device that has seen this much: every member has said that it
  /// has applied the cut, and all that it had applied by then is here.
  package static func isSealable(_ cut: Cut, seen: VersionVector, words: Words) -> Bool {
    !cut.isSealed && seen.contains(cut.dot)
      && cut.members.allSatisfy { member in
        guard let word = words[member] else { return false }
        return word.contains(cut.dot) && seen.covers(word)
      }
  }

  /// The cuts whose place a sealed one takes: whoever has seen it has seen them.
  package func replaced(by cut: Cut) -> [Cut] {
    cuts.filter { $0.dot != cut.dot && cut.context.contains($0.dot) }
  }

  /// Whether a cut may never be sealed: its author is gone, who alone could do it, or a member that
  /// is not known to have applied it. Nobody waits for such a one before asking anew.
  package func isForsaken(_ cut: Cut, words: Words) -> Bool {
    func isGone(_ device: DeviceID) -> Bool {
      retired.contains(device) || earlierNames[device] != nil
    }
    if cut.isSealed { return false }
    return isGone(cut.dot.device)
      || cut.members.contains { isGone($0) && words[$0]?.contains(cut.dot) != true }
  }

  // MARK: being cut off

  /// Whether a device that has seen this much, but not the sealed cut, must leave what it has and
  /// take over the others': some of it will never count for them. Its own deltas behind `seal` have
  /// to be written once more.
  ///
  /// Cuts of its own that the other side will never apply may stand against it, if they are sealed
  /// or still can be.
  package func mustYield(
    to cut: Cut, seen: VersionVector, words: Words, gone: Set<DeviceID> = []
  ) -> Bool {
    guard let seal = cut.seal, !seen.contains(cut.dot), !seal.covers(seen) else { return false }
    return cuts.allSatisfy { own in
      seal.contains(own.dot) || Cut.isBefore(cut.line, own.line)
        || CutBook.isLost(own, to: cut, words: words, gone: gone)
    }
  }

  /// Whether a cut will never be sealed: some member applied the other one, which came first there,
  /// or has left its name without having applied this one. (`gone`: whose words are the last.)
  package static func isLost(
    _ own: Cut, to cut: Cut, words: Words, gone: Set<DeviceID>
  ) -> Bool {
    if own.isSealed { return false }
    return own.members.contains { member in
      if cut.members.contains(member) { return true }
      let word = words[member] ?? VersionVector()
      return word.contains(cut.dot) || gone.contains(member) && !word.contains(own.dot)
    }
  }

  /// Whether a device has to cut once more, because a cut of its own will never be sealed: a member
  /// has left its name without having applied it, and no later cut has taken its place. (`gone`:
  /// whose words are the last, though the record that says so may be held by this very cut.)
  package func mustRepeatCut(
    of device: DeviceID, words: Words, gone: Set<DeviceID> = []
  ) -> Bool {
    cuts.contains { own in
      own.dot.device == device && !own.isSealed
        && own.members.contains {
          (earlierNames[$0] != nil || gone.contains($0)) && words[$0]?.contains(own.dot) != true
        }
        && !cuts.contains { $0.dot != own.dot && $0.context.contains(own.dot) }
    }
  }

  // MARK: proposing

  /// A cut as the delta `dot` of a device that has seen this much. Alone it is sealed at once.
  package func proposal(
    _ dot: Dot, seen: VersionVector, retiring: Set<DeviceID> = []
  ) -> Cut {
    var context = seen
    context.insert(dot)
    var members = context.entries.map(\.device)
    members.removeAll {
      $0 != dot.device && (retired.contains($0) || retiring.contains($0))
    }
    var line = cuts.map(\.line).min(by: Cut.isBefore) ?? []
    if line.count >= Cut.lineMax { line.remove(at: 1) }
    line.append(dot)
    return Cut(
      dot: dot, context: context, members: members, line: line,
      seal: members.count == 1 ? context : nil)
  }
}
