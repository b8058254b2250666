extension RecordState {
  /// The state of all deltas that are in one state or in the other, pruned at both fences.
  ///
  /// Each side must have seen what is behind the other's fence; a side that has seen nothing may
  /// always join.
  package static func join(
    _ a: RecordState, _ aHorizon: Horizon, _ b: RecordState, _ bHorizon: Horizon
  ) -> RecordState {
    let aSide = JoinSide(horizon: aHorizon, news: a.tombstones.unseen(by: bHorizon.seen))
    let bSide = JoinSide(horizon: bHorizon, news: b.tombstones.unseen(by: aHorizon.seen))
    let (a, b) = (
      a.settled(like: b, fence: bHorizon.fence), b.settled(like: a, fence: aHorizon.fence)
    )
    var result = RecordState(
      tombstones: joined(a.tombstones, aSide, b.tombstones, bSide),
      presences: JoinSide.join(a.presences, aSide, b.presences, bSide))
    result.presences.sort { $0.stamp < $1.stamp }
    for field in Set(a.fields.keys).union(b.fields.keys) {
      let register = Register.join(a.register(field), aSide, b.register(field), bSide)
      result.set(register, for: field)
    }
    result.prune(aHorizon.fence.merged(with: bHorizon.fence))
    return result
  }

  /// The deletes that both hold and the news of each, without those that another one has seen.
  private static func joined(
    _ a: [Tombstone], _ aSide: JoinSide, _ b: [Tombstone], _ bSide: JoinSide
  ) -> [Tombstone] {
    let bDots = Set(b.map(\.dot))
    let all = a.filter { bDots.contains($0.dot) } + aSide.news + bSide.news
    let latest = all.filter { tombstone in
      !all.contains { $0.dot != tombstone.dot && $0.context.contains(tombstone.dot) }
    }
    return latest.sorted { $0.dot < $1.dot }
  }

  private func settled(like other: RecordState, fence: VersionVector) -> RecordState {
    var result = self
    if other.presences.first?.stamp == .settled { result.settlePresences(fence) }
    return result
  }
}

extension Array where Element == Tombstone {
  fileprivate func unseen(by vector: VersionVector) -> [Tombstone] {
    filter { !vector.contains($0.dot) }
  }
}
