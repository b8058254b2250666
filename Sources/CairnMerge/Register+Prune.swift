extension Register {
  /// Forgets what the fence makes useless. `maySettle`: no delete of this record is waiting for
  /// the fence (see `RecordState.prune`).
  mutating func prune(_ fence: VersionVector, maySettle: Bool) {
    entries.forgetBirths(behind: fence)
    bases.forgetBirths(behind: fence)
    totals.forgetBirths(behind: fence)
    keepFirstBase(behind: fence)
    if maySettle {
      settleBase(fence)
      settleEntry(fence)
    }
  }

  /// Behind the fence bases are covered and killed together, so that only the first of them can
  /// ever be the one that counts.
  private mutating func keepFirstBase(behind fence: VersionVector) {
    var isFirst = true
    bases.removeAll { base in
      guard fence.contains(base.dot) else { return false }
      defer { isFirst = false }
      return !isFirst
    }
  }

  /// Only what stands alone settles: the stamps of the others still decide between them.
  ///
  /// Every device that goes on adding has seen a base behind the fence, and has begun a new run
  /// after it unless a total here says otherwise: the rest of what it contains is never asked for.
  private mutating func settleBase(_ fence: VersionVector) {
    guard bases.count == 1, var base = bases.first, fence.contains(base.dot), !base.isList else {
      return
    }
    base.stamp = .settled
    base.covered.removeAll { covered in
      !totals.contains { $0.device == covered.device && $0.since <= covered.last }
    }
    bases = base.value == nil && base.covered.isEmpty ? [] : [base]
  }

  /// A list keeps its stamp: edits still to come name its items by it.
  ///
  /// A settled removal says no more than a field that was never written.
  private mutating func settleEntry(_ fence: VersionVector) {
    guard entries.count == 1, var entry = entries.first, fence.contains(entry.dot), !entry.isList
    else { return }
    entry.stamp = .settled
    entries = entry.value == nil ? [] : [entry]
  }
}
