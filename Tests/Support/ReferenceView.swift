package import CairnMerge

/// What one record is in a set of deltas, by definition.
package struct ReferenceView: Sendable {
  let atoms: [ReferenceAtom]
  let deletes: [ReferenceDelete]
  /// What no delete kills.
  let alive: [ReferenceAtom]

  init(atoms: [ReferenceAtom], deletes: [ReferenceDelete]) {
    self.atoms = atoms
    self.deletes = deletes
    alive = atoms.filter { atom in !deletes.contains { $0.kills(atom) } }
  }

  /// The deletes that no other delete has seen.
  var latestDeletes: [ReferenceDelete] {
    deletes.filter { delete in
      !deletes.contains { $0.dot != delete.dot && $0.context.contains(delete.dot) }
    }
  }

  var latest: Set<Dot> { Set(latestDeletes.map(\.dot)) }
  var bornAlive: Set<Dot> { Set(alive.flatMap(\.born)) }
  var fields: Set<String> {
    Set(
      atoms.compactMap { atom in
        switch atom.kind {
        case .presence: nil
        case .put(let field, _, _), .add(let field, _, _, _): field
        }
      })
  }

  /// The alive writes of a field that no other write has seen.
  func survivors(_ field: String) -> [ReferenceAtom] {
    uncovered(field) { _, _ in true }
  }

  /// The alive plain puts that no other plain put has seen.
  func bases(_ field: String) -> [ReferenceAtom] {
    uncovered(field) { _, later in later.isPut }.filter(\.isPut)
  }

  /// The alive additions that neither a plain put nor an addition of the same device has seen, by
  /// device.
  func totals(_ field: String) -> [ReferenceAtom] {
    uncovered(field) { $1.isPut || $1.dot.device == $0.dot.device }.filter(\.isAdd)
      .sorted { $0.dot.device < $1.dot.device }
  }

  private func uncovered(
    _ field: String, _ covers: (ReferenceAtom, ReferenceAtom) -> Bool
  ) -> [ReferenceAtom] {
    alive.filter { atom in
      atom.writes(field)
        && !atoms.contains { later in
          later.writes(field) && later.dot != atom.dot && later.context.contains(atom.dot)
            && covers(atom, later)
        }
    }.sorted { $0.stamp < $1.stamp }
  }

  package var exists: Bool {
    alive.contains(where: \.isPresence)
      || fields.contains { field in survivors(field).contains { $0.value != nil } }
  }

  package func visible(_ field: String, rule: Rule) -> FieldValue? {
    let survivors = survivors(field)
    guard let first = survivors.first, let last = survivors.last else { return nil }
    if survivors.count == 1 { return first.value }
    switch rule {
    case .remote: return first.value
    case .local: return last.value
    case .max: return best(survivors) { $0 > 0 }
    case .min: return best(survivors) { $0 < 0 }
    case .sum:
      let areNumbers = survivors.allSatisfy { $0.value.flatMap(Number.init) != nil }
      return areNumbers ? sum(field)?.value ?? first.value : first.value
    }
  }

  /// The earliest of those that are at least as good as every other.
  private func best(_ survivors: [ReferenceAtom], _ isBetter: (Int) -> Bool) -> FieldValue? {
    survivors.first { candidate in
      !survivors.contains { isBetter(FieldValue.ordered($0.value, candidate.value)) }
    }?.value
  }

  /// The earliest base and what every device has added that it does not contain.
  func sum(_ field: String) -> Number? {
    var sum = Number.int(0)
    var contained: [DeviceID: ReferenceCount] = [:]
    if let base = bases(field).first, case .put(_, let value, let counts) = base.kind {
      if let value {
        guard let number = Number(value) else { return nil }
        sum = number
      }
      contained = counts
    }
    for total in totals(field) {
      guard case .add(_, _, let count, let since) = total.kind else { continue }
      let before = contained[total.dot.device]
      let counted = before.map { $0.last >= since ? $0.total : .int(0) } ?? .int(0)
      sum = sum.adding(count.total.subtracting(counted))
    }
    return sum
  }

  /// What it means, to someone who sees this, to set a field.
  func kind(of value: FieldValue?, field: String, rule: Rule, dot: Dot) -> ReferenceAtom.Kind {
    let shown = visible(field, rule: .sum)
    let mayAdd = rule == .sum && (shown.map { Number($0) != nil } ?? true)
    if mayAdd, let value, let number = Number(value), let sum = sum(field) {
      var total = Number.int(0)
      var since = dot.sequence
      if let mine = totals(field).first(where: { $0.dot.device == dot.device }),
        case .add(_, _, let count, let start) = mine.kind
      {
        (total, since) = (count.total, start)
      }
      total = total.adding(number.subtracting(sum))
      if total.isFinite {
        let count = ReferenceCount(last: dot.sequence, total: total)
        return .add(field: field, result: value, count, since: since)
      }
    }
    return .put(field: field, value, contained: contained(field))
  }

  private func contained(_ field: String) -> [DeviceID: ReferenceCount] {
    var counts: [DeviceID: ReferenceCount] = [:]
    for base in bases(field) {
      guard case .put(_, _, let earlier) = base.kind else { continue }
      counts.merge(earlier) { $0.last > $1.last ? $0 : $1 }
    }
    for total in totals(field) {
      guard case .add(_, _, let count, _) = total.kind else { continue }
      counts[total.dot.device] = count
    }
    return counts
  }
}
