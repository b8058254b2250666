import CairnBytes
import CairnDisk
package import CairnMerge
import Synchronization

/// What the exchange tells a store about others, and what people want of its membership.
extension Store {
  /// What other devices say that they have applied; a later word takes an earlier one's place.
  /// Returns whether any is news.
  @discardableResult
  package func learn(_ words: CutBook.Words) -> Bool {
    state.withLock { guarded in
      let before = guarded.words
      guarded.hasListened = true
      for (device, word) in words { guarded.words[device] = word }
      return guarded.words != before
    }
  }

  /// A device for which this store is put together leaves its name for good: a cut that it was to
  /// apply, and has not, is never sealed.
  package func expectToLeave(_ device: DeviceID) {
    state.withLock { _ = $0.rumours.left.insert(device) }
  }

  /// Takes note of the cuts and seals of a pack of which nothing is applied yet. A pack that can't
  /// be read says nothing.
  package func hear(of pack: [UInt8]) {
    let steps: [DeliveryPlan.Step]
    do throws(DecodeError) { steps = try DeliveryPlan.Pending(pack, 0).steps } catch { return }
    state.withLock { guarded in
      var gate = DeliveryGate(guarded.store, words: guarded.words, rumours: guarded.rumours)
      for news in steps.compactMap(\.news) { gate.note(news) }
      gate.noteCuts(steps)
      guarded.rumours = gate.rumours
    }
  }

  /// A cut that was fetched, and is applied as soon as what it builds on is here: not any more once
  /// something is here that a device writes without having seen it. Nil if there is none.
  package func cutAhead(of device: DeviceID) -> Cut? {
    state.withLock { guarded in
      var gate = DeliveryGate(guarded.store, words: guarded.words, rumours: guarded.rumours)
      gate.lookAhead(seen: guarded.store.vector)
      return gate.ahead.first { !$0.members.contains(device) || $0.isSealed }
    }
  }

  /// Leaves a device out from the next sync on: nobody waits for it any more, and what it wrote
  /// without having seen this does not count. It is done with a commit, as any change.
  package func retire(_ device: DeviceID) throws(StoreError) {
    try withState { guarded throws(StoreError) in
      try guarded.store.requireWritable()
      guarded.retiring.insert(device)
    }
    // No record has changed, so that nobody else says so.
    tell()
  }

  /// The devices that are retired, the changes since the last sync included.
  package var retired: Set<DeviceID> {
    state.withLock { $0.store.cuts.retired.union($0.retiring) }
  }

  /// The cuts that this device has applied and that still say something.
  package var cuts: CutBook { state.withLock { $0.store.cuts } }

  /// Devices for which the cuts wait that are not sealed; none before others were listened to.
  package var silentMembers: Set<DeviceID> {
    state.withLock { Store.silentMembers($0) }
  }

  static func silentMembers(_ guarded: Guarded) -> Set<DeviceID> {
    guarded.hasListened ? guarded.store.silentMembers(guarded.words) : []
  }

  /// Those for which this cut waits, applied here or not.
  package func silentMembers(of cut: Cut) -> Set<DeviceID> {
    state.withLock { $0.store.silentMembers(of: cut, $0.words) }
  }

  /// Whether cuts are here that are not sealed, and still can be.
  package var hasOpenCuts: Bool { state.withLock { !$0.store.openCuts($0.words).isEmpty } }

  /// What `sync(packs:)` would find out of packs, without doing any of it.
  package func judge(packs: [[UInt8]]) throws(StoreError) -> SyncOutcome {
    try withState { guarded in
      let gate = DeliveryGate(guarded.store, words: guarded.words, rumours: guarded.rumours)
      let plan = Delivery.plan(packs, vector: guarded.store.vector, gate: gate)
      var outcome = SyncOutcome()
      outcome.held = plan.held
      outcome.refused = plan.refused
      outcome.cutOff = plan.cutOff
      return outcome
    }
  }

  /// Throws if the user may not write.
  package func requireWritable() throws(StoreError) {
    try withState { guarded throws(StoreError) in try guarded.store.requireWritable() }
  }

  /// Asks for a cut with the next sync, if so many deltas are outside of the fence by then.
  package func requestCut(from count: UInt64 = 1) {
    state.withLock { $0.wantsCut = min($0.wantsCut ?? .max, count) }
  }

  /// Commits names that this device has left. `moved`: which deltas it has written once more, by
  /// the name that they had.
  func note(_ names: [EarlierName], moved: [DeviceID: [UInt64]]) throws(StoreError) {
    try withState { guarded throws(StoreError) in try guarded.store.note(names, moved) }
    try sync()
  }

  /// Adds what is due to the delta that is about to be committed; returns whether that is a cut.
  func addCuts(_ guarded: inout Guarded) throws(StoreError) -> Bool {
    guard isLinked, guarded.store.access.isWritable else { return false }
    // The rule: nobody has asked for anything, and no cut waits for others. It is to cost nothing,
    // since it is asked with each commit, which may be a keystroke's.
    if guarded.wantsCut == nil, guarded.retiring.isEmpty, guarded.store.cuts.retired.isEmpty,
      !guarded.store.cuts.hasOpen
    {
      return false
    }
    // First of all: looked for between the arguments it costs a copy of all that is guarded.
    let isAsking = guarded.wantsCut != nil || guarded.store.cuts.hasOpen
    let isCutOff = isAsking && isCutOff(guarded)
    return try guarded.store.addCuts(
      StoreState.CutWish(
        retiring: guarded.retiring, from: guarded.wantsCut, held: guarded.held,
        left: guarded.rumours.left, words: guarded.words, isCutOff: isCutOff))
  }

  /// Whether the next commit may ask for a cut by itself, or because somebody has asked to forget.
  package var mayAskForCut: Bool {
    state.withLock { $0.wantsCut != nil || $0.store.cuts.hasOpen }
  }

  /// Whether this device has to give way to a sealed cut that was fetched.
  private func isCutOff(_ guarded: Guarded) -> Bool {
    if guarded.rumours.cuts.isEmpty { return false }
    let gate = DeliveryGate(guarded.store, words: guarded.words, rumours: guarded.rumours)
    return gate.cutOff(seen: guarded.store.vector) != nil
  }

  /// The fence has moved over enough of what the snapshot remembers to write it anew.
  func isFenceDue(_ guarded: Guarded) -> Bool {
    guard isLinked, let base = guarded.store.ground.base?.description else { return false }
    let (due, isBeyond) = base.fence.total.addingReportingOverflow(options.cutFrom)
    return !isBeyond && guarded.store.fence.total >= due
  }
}
