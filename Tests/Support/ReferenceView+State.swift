package import CairnMerge

extension ReferenceView {
  /// The state that CairnMerge should have come to.
  package var state: RecordState {
    var state = RecordState(
      tombstones: latestDeletes.map { Tombstone(dot: $0.dot, context: $0.context) }
        .sorted { $0.dot < $1.dot },
      presences: alive.filter(\.isPresence).sorted { $0.stamp < $1.stamp }
        .map { Presence(stamp: $0.stamp, born: $0.born.sorted()) })
    for field in fields {
      let register = register(field)
      if !register.isEmpty { state.fields[field] = register }
    }
    return state
  }

  private func register(_ field: String) -> Register {
    var register = Register()
    for atom in survivors(field) {
      register.entries.append(
        Entry(
          stamp: atom.stamp, born: atom.born.sorted(), value: atom.value, isAdd: atom.isAdd))
    }
    for atom in bases(field) {
      guard case .put(_, let value, let contained) = atom.kind else { continue }
      let covered = contained.map { device, count in
        RunningTotal(device: device, last: count.last, total: count.total)
      }
      register.bases.append(
        Base(
          stamp: atom.stamp, born: atom.born.sorted(), value: value,
          covered: covered.sorted { $0.device < $1.device }))
    }
    for atom in totals(field) {
      guard case .add(_, _, let count, let since) = atom.kind else { continue }
      register.totals.append(
        Total(stamp: atom.stamp, born: atom.born.sorted(), since: since, total: count.total))
    }
    return register
  }
}
