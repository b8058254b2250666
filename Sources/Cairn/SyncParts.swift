internal import CairnMerge
internal import CairnStore

/// What several commits in a row have changed, as one: each record once, as it is in the end. Put
/// together only then, so that a long backlog takes time in proportion to its length.
struct SyncParts {
  private var sum: SyncOutcome
  private var parts: [Part] = []

  private struct Part {
    var changed: [SyncOutcome.Changed]
    var conflicts: [SyncOutcome.Conflict]
  }

  private struct RecordKey: Hashable {
    var table: String
    var id: RecordName
  }

  init(_ first: SyncOutcome = SyncOutcome()) {
    sum = first
    takeRecords()
  }

  var appliedCount: Int { sum.appliedCount }
  var cutOff: Cut? { sum.cutOff }

  mutating func add(_ part: SyncOutcome) {
    sum.committed = part.committed ?? sum.committed
    sum.addApplied(part.appliedCount)
    sum.changed = part.changed
    sum.conflicts = part.conflicts
    sum.summary = part.summary ?? sum.summary
    sum.cutOff = part.cutOff ?? sum.cutOff
    sum.arrived = part.arrived ?? sum.arrived
    sum.newDevice = part.newDevice ?? sum.newDevice
    takeRecords()
  }

  /// One that has judged packs knows all that those before it knew, and what they have applied:
  /// what they gave way to may have lost since.
  mutating func add(judged part: SyncOutcome) {
    add(part)
    sum.cutOff = part.cutOff
  }

  private mutating func takeRecords() {
    if sum.changed.isEmpty, sum.conflicts.isEmpty { return }
    parts.append(Part(changed: sum.changed, conflicts: sum.conflicts))
    (sum.changed, sum.conflicts) = ([], [])
  }

  /// Of a record that a later part has changed again only that counts, with its conflicts, and with
  /// earlier ones of which no record tells.
  func whole() -> SyncOutcome {
    var sum = sum
    if parts.count == 1 {
      (sum.changed, sum.conflicts) = (parts[0].changed, parts[0].conflicts)
      return sum
    }
    var later: Set<RecordKey> = []
    var kept = parts
    for index in parts.indices.reversed() {
      kept[index].changed.removeAll { later.contains(RecordKey(table: $0.table, id: $0.id)) }
      kept[index].conflicts.removeAll {
        !$0.isOnlyHere && later.contains(RecordKey(table: $0.table, id: $0.id))
      }
      if index == 0 { break }
      for one in parts[index].changed { later.insert(RecordKey(table: one.table, id: one.id)) }
    }
    sum.changed = kept.flatMap(\.changed)
    sum.conflicts = kept.flatMap(\.conflicts)
    return sum
  }
}
