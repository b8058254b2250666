import Cairn
import CairnBytes
import CairnMerge
import CairnStore
import TestSupport

/// One datastore on one device, and beside it what it has to show.
final class SimulatedCopy {
  struct State {
    var vector: VersionVector
    /// nil if nobody could read it.
    var content: SimulatedContent?
  }

  /// A record that a commit put there.
  struct Mark {
    var id: String
    var dot: Dot
  }

  /// What the simulation knows of it, besides what is on the disk.
  struct Memory {
    var shown = SimulatedContent()
    var committed = SimulatedContent()
    /// What a power cut may lead back to, oldest first; the first for certain.
    var states = [State(vector: VersionVector(), content: SimulatedContent())]
    /// Something failed since, so that more may be on the disk than is known.
    var isUncertain = false
    /// Own deltas that must not be lost any more.
    var acknowledged = VersionVector()
    /// Own deltas that others may have.
    var published: UInt64 = 0
    /// Own deltas that a head in the folder names: a copy of the device finds out about these.
    var listed: UInt64 = 0
    /// Who it was when it was last looked at.
    var device: DeviceID?
    var marks: [Mark] = []
    /// Marks that were in the folder and not here when a restore took the device back.
    var awaited: Set<String> = []
    var pendingMarks: [String] = []
  }

  let id: String
  let index: Int
  unowned let device: SimulatedDevice
  var datastore: Datastore?
  var memory = Memory()
  /// A read failed at the wrong moment: what is pending has to be forgotten before the next check.
  var hasLostSight = false
  /// Faults of the disk when it was opened.
  private var faultsAtOpen = 0
  /// A round of it is under way.
  var isExchanging = false
  /// Deletes of others wait for consent.
  private var isHolding = false
  private(set) var counts = Counts()
  let identity: UInt128

  struct Counts {
    var edits = 0
    var commits = 0
    /// Rounds with the folder that came to their end.
    var exchanges = 0
    var incorporated = 0
    var conflicts = 0
    var limits = 0
    var renamed = 0
    var errors: [String: Int] = [:]
  }

  init(_ id: String, _ index: Int, _ device: SimulatedDevice) {
    self.id = id
    self.index = index
    self.device = device
    identity = XXH3.hash128(Array("cairn datastore \(id)".utf8))
  }

  var faultCount: Int { device.faults.total(device.disk) }
  /// A fault struck since it was opened: it may refuse to work on.
  var isSick: Bool { device.isOff || faultCount != faultsAtOpen }

  func demand(_ holds: Bool, _ text: @autoclosure () -> String) throws {
    if !holds { throw TortureFailure("device \(device.number), \(id): \(text())") }
  }

  /// Errors come only from faults.
  func excuse(_ error: CairnError, _ what: String) throws {
    device.note("  \(what): \(error)")
    count(error, what)
    try demand(isSick, "\(what) failed without a cause: \(error)")
  }

  // MARK: opening

  /// Opens it; false if a fault prevents that. After a crash only a known state may be there.
  func open(afterCrash: Bool, keepsMarks: Bool = false) throws -> Bool {
    let marks = memory.marks
    defer { if keepsMarks { memory.marks = marks } }
    let before = faultCount
    let opened: Datastore
    do { opened = try device.manager.openOrCreateDatastore(id) } catch {
      try demand(
        device.isOff || faultCount != before, "it can't be opened: \(error)")
      return false
    }
    faultsAtOpen = before
    if device.profile.hasIndexes {
      for field in ["a", "n"] { try opened.core.addIndex(IndexName(table: "t", field: field)) }
    }
    datastore = opened
    do { try recognise(opened.core, afterCrash: afterCrash) } catch let error as StoreError {
      try demand(device.isOff || faultCount != before, "it can't be read: \(error)")
      datastore = nil
      // The process goes on, and tries again.
      _ = try? opened.close()
      return false
    }
    return true
  }

  private func recognise(_ store: Store, afterCrash: Bool) throws {
    let vector = store.vector
    let content = try SimulatedContent(store)
    let own = vector[store.device]
    if memory.device != store.device { (memory.published, memory.listed) = (0, 0) }
    memory.device = store.device
    memory.pendingMarks = []
    // Those that a power cut could take have gone, or else it is told below.
    memory.marks.removeAll { $0.dot.device == store.device && $0.dot.sequence > own }
    try demand(
      own >= memory.published, "\(memory.published) deltas are published, \(own) are here")
    let states = memory.states.filter { $0.vector == vector }
    let known = states.compactMap(\.content)
    if let last = known.last, known.count == states.count {
      try demand(
        known.contains(content),
        "at \(vector) it shows something else: \(content.differences(from: last))")
    } else if states.isEmpty, !isBetween(vector) {
      try demand(
        memory.isUncertain
          && (device.folder.hasTwins || vector.covers(memory.states[0].vector)),
        "acknowledged deltas are missing: \(vector), not \(memory.states.map(\.vector))")
    }
    if known.count < max(1, states.count) { try checkReference(vector, content, "opened") }
    try checkTotals(store, content)
    memory.shown = content
    memory.committed = content
    hasLostSight = false
    if afterCrash {
      memory.states = [State(vector: vector, content: content)]
      memory.isUncertain = false
    } else {
      note(State(vector: vector, content: content))
    }
  }

  /// A sync takes in what was fetched in one or more steps, each of which a power cut may be the
  /// last of.
  private func isBetween(_ vector: VersionVector) -> Bool {
    zip(memory.states, memory.states.dropFirst()).contains { before, after in
      vector.covers(before.vector) && after.vector.covers(vector)
    }
  }

  private func note(_ state: State) {
    if let last = memory.states.last, last.vector == state.vector, last.content == state.content,
      state.content != nil
    {
      return
    }
    memory.states.append(state)
    // What has to be known is only what the disk may forget.
    if memory.states.count > 400 { memory.states.removeSubrange(1..<100) }
  }

  private func checkTotals(_ store: Store, _ content: SimulatedContent) throws {
    let totals = store.totals
    try demand(
      totals.size == content.size && totals.records == content.recordCount,
      "it counts \(totals), not \(content.size) and \(content.recordCount)")
  }

  /// Everything that can be read is what it has to be.
  func check() throws {
    guard let store = datastore?.core, !hasLostSight else { return }
    do {
      let content = try SimulatedContent(store)
      try demand(
        content == memory.shown, "it shows \(content.differences(from: memory.shown))")
      try checkTotals(store, content)
      let tables = content.tables.sorted { $0.key < $1.key }
      for (table, records) in tables where !table.hasPrefix(":") {
        try demand(try store.count(table: table) == records.count, "the count of \(table)")
      }
      if !isSick { try checkQueries(store, content) }
    } catch let error as StoreError {
      try demand(isSick, "it can't be read: \(error)")
    }
  }

  private func checkQueries(_ store: Store, _ content: SimulatedContent) throws {
    let records = content.tables["t"] ?? [:]
    for field in ["a", "n"] {
      let value = records.keys.sorted().lazy.compactMap { records[$0]?[field] }.first ?? .int(1)
      let found = try store.query(table: "t", [(field, value)]).map(\.text).sorted()
      let wanted = records.filter { $0.value[field]?.matches(value) ?? false }.keys.sorted()
      try demand(found == wanted, "\(field) = \(value) finds \(found), not \(wanted)")
    }
  }

  // MARK: committing

  /// Commits, and takes in what was fetched. Returns whether something was committed.
  @discardableResult
  func commit(allowingMassDelete: Bool = false) throws -> Bool {
    guard let datastore else { return false }
    let store = datastore.core
    try regainSight()
    try mark(datastore)
    let before = store.vector
    let name = store.device
    let pending = memory.shown
    do {
      let result = try datastore.sync(allowingMassDelete: allowingMassDelete)
      try checkHeld(result.massDelete, allowingMassDelete)
      let own = store.vector[name]
      let isAnother = store.device != name || own != before[name] + (result.committed ? 1 : 0)
      if device.folder.hasTwins, isAnother {
        try becomeAnother(store)
        return true
      }
      try demand(
        own == before[name] + (result.committed ? 1 : 0),
        "a commit goes from \(before) to \(store.vector)")
      keepMarks(store)
      counts.commits += result.committed ? 1 : 0
      counts.incorporated += result.incorporated
      counts.conflicts += result.conflicts.count
      try take(result.changes, store)
      memory.committed = memory.shown
      if result.committed, result.incorporated > 0 {
        note(State(vector: before.next(name), content: pending))
      }
      noteCommitted(store)
      return result.committed
    } catch let error as CairnError {
      try afterFailedCommit(error, store, before, pending)
      return false
    }
  }

  /// What waits for consent is more than the limit says, and nothing waits that was consented to.
  private func checkHeld(_ held: MassDelete?, _ isAllowed: Bool) throws {
    let wasHolding = isHolding
    isHolding = held != nil
    guard let held else { return }
    // Each sync says so again until it is over.
    if !wasHolding { device.onHeld?() }
    let limit = device.profile.massDelete
    try demand(!isAllowed, "deletes wait although they were consented to: \(held)")
    try demand(
      held.records > limit && !held.devices.isEmpty && held.devices.allSatisfy { $0.records > 0 },
      "deletes wait although there are not more than \(limit): \(held)")
  }

  /// Puts a record there for this commit alone.
  private func mark(_ datastore: Datastore) throws {
    guard device.profile.hasMarks, device.makesMarks, datastore.core.isOpen else { return }
    device.marks += 1
    let id = "m\(device.number)-\(device.marks)"
    do {
      try datastore.table("marks").insert([:], id: RecordID(id))
      memory.shown["marks", id] = [:]
      memory.pendingMarks.append(id)
    } catch { try excuse(error, "edit") }
  }

  /// What is pending is committed.
  private func keepMarks(_ store: Store) {
    let dot = Dot(device: store.device, sequence: store.vector[store.device])
    memory.marks += memory.pendingMarks.map { Mark(id: $0, dot: dot) }
    memory.pendingMarks = []
  }

  /// The sync gave it another name, and took in what its old name had published.
  private func becomeAnother(_ store: Store) throws {
    memory.shown = try reread(store)
    memory.committed = memory.shown
    // What was not published yet has a new name.
    let dot = Dot(device: store.device, sequence: store.vector[store.device])
    for index in memory.marks.indices
    where memory.marks[index].dot.device == memory.device
      && memory.marks[index].dot.sequence > memory.listed
    {
      memory.marks[index].dot = dot
    }
    memory.device = store.device
    (memory.published, memory.listed) = (0, 0)
    memory.acknowledged = VersionVector()
    keepMarks(store)
    counts.renamed += 1
    // Of one that had to last nothing may go any more, whatever its name.
    if device.profile.durability == 0 { return noteCommitted(store) }
    memory.states.append(State(vector: store.vector, content: device.isOff ? nil : memory.shown))
    memory.isUncertain = true
  }

  /// Reads what other devices' changes touched.
  private func take(_ changes: [SyncResult.Change], _ store: Store) throws {
    do {
      if changes.contains(where: { $0.table == SimulatedContent.rules }) {
        memory.shown = try SimulatedContent(store)
      } else {
        // In an order of its own: what is read decides what is in the cache, and with that which
        // read meets a fault.
        let sorted = changes.sorted {
          ($0.table, $0.id.description) < ($1.table, $1.id.description)
        }
        for change in sorted {
          let id = RecordName(change.id.description)
          try memory.shown.read(store, change.table, id)
          try demand(
            (memory.shown[change.table, id.text] == nil) == change.isDeleted,
            "\(change) is not what is there")
        }
      }
    } catch let error as StoreError {
      try demand(isSick, "it can't be read: \(error)")
      memory.shown = try reread(store)
    }
  }

  func regainSight() throws {
    guard hasLostSight, let store = datastore?.core else { return }
    memory.shown = try reread(store)
    hasLostSight = false
  }

  /// What is there, on a disk that may fail once more.
  private func reread(_ store: Store) throws -> SimulatedContent {
    for _ in 0..<5 {
      do { return try SimulatedContent(store) } catch {
        try demand(isSick, "it can't be read: \(error)")
        if device.isOff { return memory.shown }
      }
    }
    return try SimulatedContent(store)
  }

  private func noteCommitted(_ store: Store) {
    // Without power what others have changed could not be read.
    let state = State(vector: store.vector, content: device.isOff ? nil : memory.shown)
    if device.profile.durability == 0 {
      memory.states = [state]
      memory.isUncertain = false
      acknowledge(store)
    } else {
      note(state)
    }
  }

  /// What is here now is safe.
  private func acknowledge(_ store: Store) {
    let own = store.vector[store.device]
    if own > 0 { memory.acknowledged.insert(Dot(device: store.device, sequence: own)) }
  }

  private func afterFailedCommit(
    _ error: CairnError, _ store: Store, _ before: VersionVector, _ pending: SimulatedContent
  ) throws {
    try excuse(error, "sync")
    memory.isUncertain = true
    if device.isOff || !store.isOpen {
      note(State(vector: before.next(store.device), content: memory.shown))
      return
    }
    let after = store.vector
    if after == before {
      // Nothing was committed, and nothing was taken back. But the disk may have it.
      try check()
      note(State(vector: before.next(store.device), content: memory.shown))
      return
    }
    // The own changes may be all that the disk has of it.
    note(State(vector: before.next(store.device), content: pending))
    memory.shown = try reread(store)
    if device.isOff { return }
    // The own changes go first, so what came after them found nothing that was not committed; and
    // what it took in it shows as a whole.
    try demand(
      store.totals.pending == 0 || device.folder.hasTwins,
      "a sync that failed took in others' changes before its own")
    memory.committed = memory.shown
    keepMarks(store)
    try checkReference(after, memory.shown, "after a sync that failed")
    note(State(vector: after, content: memory.shown))
  }

  /// It shows what the naive reference makes of these deltas, if all of them are known.
  private func checkReference(
    _ vector: VersionVector, _ content: SimulatedContent, _ when: String
  ) throws {
    // Of two devices of one name the reference knows only what one of them has published.
    guard !device.folder.hasTwins, let wanted = device.reference?(index, vector) else { return }
    try demand(
      content == wanted,
      "\(when), at \(vector), it is not what the reference says: "
        + content.differences(from: wanted))
  }

  /// What was published is durable here: what lies before it need not be known any more.
  func notePublished(_ last: UInt64) {
    memory.published = max(memory.published, last)
    guard let store = datastore?.core else { return }
    memory.acknowledged.insert(Dot(device: store.device, sequence: last))
  }

  /// A head in the folder names all that was published.
  func noteListed() { memory.listed = memory.published }

  // MARK: other work

  func rollBack() throws {
    guard let datastore else { return }
    do {
      try datastore.rollback()
      memory.shown = memory.committed
      memory.pendingMarks = []
    } catch {
      try excuse(error, "rollback")
    }
  }

  func compact() throws {
    guard let datastore else { return }
    do { try datastore.compact() } catch {
      memory.isUncertain = true
      try excuse(error, "compact")
    }
  }

  /// Closes it; opening it again is another matter.
  func close() throws {
    guard let open = datastore else { return }
    datastore = nil
    do { try open.close() } catch {
      memory.isUncertain = true
      try excuse(error, "close")
    }
    memory.shown = memory.committed
  }

  func count(_ error: CairnError, _ what: String) {
    counts.errors["\(what): \(error.code.rawValue)", default: 0] += 1
  }

  func countEdit() { counts.edits += 1 }
  func countExchange() { counts.exchanges += 1 }
  func countLimit() { counts.limits += 1 }
}

extension VersionVector {
  /// After one more delta of a device.
  fileprivate func next(_ device: DeviceID) -> VersionVector {
    var vector = self
    vector[device] += 1
    return vector
  }
}
