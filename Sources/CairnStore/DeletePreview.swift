import CairnBytes
package import CairnMerge

/// Which records would be gone if packs were incorporated: found by doing it, on a copy of the
/// state in memory. Nothing is written, and the store itself does not notice.
///
/// Costs what incorporating costs, and a copy of what is in memory of the tables that change; so it
/// is for when there are many deletes.
package struct DeletePreview {
  private var before: StoreState
  private var after: StoreState
  /// Records that were there and that something deletes, with the device that does so first.
  private var deleted: [Key: DeviceID] = [:]

  private struct Key: Hashable {
    var table: String
    var id: RecordName
  }

  /// What other devices say that they have applied.
  private let words: CutBook.Words
  private var rumours: CutRumours

  init(
    _ state: StoreState, words: CutBook.Words, rumours: CutRumours
  ) throws(StoreError) {
    (self.words, self.rumours) = (words, rumours)
    before = state
    after = state
    // What the copy does is nobody's news.
    after.journal = ChangeJournal()
    // Deltas are judged by stamps, and what is pending has none yet: a sync commits it first.
    guard after.hasPending else { return }
    let hadRules = after.hasPendingRules
    after.rollBack()
    if hadRules { try after.readRules() }
  }

  /// Applies what can be applied; returns whether that was anything. Packs with wrong bytes are
  /// left out, as they are when it is done in earnest.
  package mutating func apply(_ packs: [[UInt8]]) throws(StoreError) -> Bool {
    let gate = DeliveryGate(after, words: words, rumours: rumours)
    let plan = Delivery.plan(packs, vector: after.vector, gate: gate)
    rumours = plan.rumours
    for found in plan.deletes {
      let key = Key(table: found.table, id: found.id)
      guard deleted[key] == nil, try before.exists(found.table, found.id) else { continue }
      deleted[key] = found.dot.device
    }
    var delivery = Delivery()
    for index in packs.indices where plan.last[index] > 0 {
      do throws(DecodeError) {
        delivery.add(try PackReader(packs[index]), last: plan.last[index])
      } catch { continue }
    }
    try delivery.run(into: &after)
    return delivery.appliedCount > 0
  }

  /// How many of the records that are here would be gone, by the device that deletes them.
  package mutating func gone() throws(StoreError) -> [DeviceID: Int] {
    var result: [DeviceID: Int] = [:]
    for (key, device) in deleted where try !after.exists(key.table, key.id) {
      result[device, default: 0] += 1
    }
    return result
  }
}

extension Store {
  /// A preview of what goes of what is here now, uncommitted changes among it.
  package func deletePreview() throws(StoreError) -> DeletePreview {
    try withState { guarded throws(StoreError) in
      try DeletePreview(guarded.store, words: guarded.words, rumours: guarded.rumours)
    }
  }
}

extension StoreState {
  /// Whether there is such a record.
  mutating func exists(_ table: String, _ id: RecordName) throws(StoreError) -> Bool {
    let number = self.table(table)
    return try isThere(number, tables[number].find(id, &ground))
  }
}
