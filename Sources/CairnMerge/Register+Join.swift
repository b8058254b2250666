extension Register {
  /// The register of all deltas that are in one state or in the other.
  static func join(
    _ a: Register, _ aSide: JoinSide, _ b: Register, _ bSide: JoinSide
  ) -> Register {
    let (a, b) = (
      a.settled(like: b, fence: bSide.horizon.fence),
      b.settled(like: a, fence: aSide.horizon.fence)
    )
    var result = Register(
      entries: JoinSide.join(a.entries, aSide, b.entries, bSide),
      bases: JoinSide.join(a.bases, aSide, b.bases, bSide),
      totals: JoinSide.join(a.totals, aSide, b.totals, bSide))
    result.entries.sort { $0.stamp < $1.stamp }
    result.bases.sort { $0.stamp < $1.stamp }
    result.totals.sort { $0.device < $1.device }
    if !a.lists.isEmpty || !b.lists.isEmpty { result.joinLists(a, aSide, b, bSide) }
    return result
  }

  /// Settles here what is settled in the other state, so that both call it by the same stamp.
  /// There is no more than one write that it can be: see MERGE.md.
  private func settled(like other: Register, fence: VersionVector) -> Register {
    var result = self
    if other.entries.first?.stamp == .settled { result.entries.settleFirst(behind: fence) }
    if other.bases.first?.stamp == .settled { result.bases.settleFirst(behind: fence) }
    return result
  }
}

extension Array where Element: Content {
  fileprivate mutating func settleFirst(behind fence: VersionVector) {
    guard let index = firstIndex(where: { fence.contains($0.dot) }) else { return }
    self[index].stamp = .settled
  }
}
