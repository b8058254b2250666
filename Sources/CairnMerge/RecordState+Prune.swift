extension RecordState {
  /// Forgets what no delta that is still to come can tell from its absence.
  ///
  /// Such a delta has seen everything behind the fence: it covers or kills all of that together,
  /// so it needs neither dots nor times. Losers of a conflict stay, since a change of the rule may
  /// ask for them.
  ///
  /// Nothing settles while a delete is waiting for the fence. A state that has not seen that delete
  /// may hold content behind the fence that it killed, and a join must be able to tell the two
  /// apart by their stamps.
  package mutating func prune(_ fence: VersionVector) {
    tombstones.removeAll { fence.contains($0.dot) }
    presences.forgetBirths(behind: fence)
    let maySettle = tombstones.isEmpty
    if maySettle { settlePresences(fence) }
    for (field, var register) in fields {
      register.prune(fence, maySettle: maySettle)
      set(register, for: field)
    }
  }

  /// Inserts behind the fence live and die together, so one stands for all.
  mutating func settlePresences(_ fence: VersionVector) {
    let count = presences.count
    presences.removeAll(seenBy: fence)
    if presences.count < count {
      presences.insert(inOrder: Presence(stamp: .settled, born: []))
    }
  }
}
