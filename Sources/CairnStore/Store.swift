package import CairnDisk
import CairnLog
package import CairnMerge
import Synchronization

/// One datastore on disk: a snapshot, a log of what came after it, and both in memory as far as
/// they were touched.
///
/// All methods may be called from any thread. `state` guards everything in memory and is never
/// held over the sync of a commit, unless its segment ends meanwhile; `committers` has one of them
/// sync for all that wait.
package final class Store: Sendable {
  package let directory: String
  package let datastore: UInt128
  package let isLinked: Bool
  package let options: StoreOptions
  /// What opening had to mend; empty after a clean close.
  package let recovery: [RecoveryNote]
  let machine: Machine
  private let deviceWord: Atomic<UInt64>
  let lock: any DiskLock
  let state: Lock<Guarded>
  private let committers: GroupCommit
  /// Up to where the log is known to be durable, for those who must not wait: low half of the
  /// segment's number, then the end.
  private let durableWord: Atomic<UInt64>
  private let isPoisoned = Atomic<Bool>(false)
  /// The last snapshot that CURRENT may name on the disk although its replacement has failed.
  private let namedSnapshot = Atomic<UInt64>(0)
  let onChange = Lock(Callback())
  let onCompaction = Lock(Callback())
  let compaction = Lock<CompactionState>(CompactionState())
  /// Where the last publication has stopped reading.
  let publishing = Lock<OwnFrames?>(nil)
  /// A snapshot that is on its way here, a part at a time: no leftover of a crash.
  let incoming = Lock<String?>(nil)
  /// One that is here wholly, and waits for somebody's consent.
  let waiting = Lock<String?>(nil)
  /// One compaction at a time.
  let compactionTurn = Lock<Void>(())
  /// Held while a committer syncs the log, until it counts that this has failed. Whoever has it
  /// takes no other lock: a seal waits for it under the state's.
  let tailSync = Lock<Void>(())
  /// Held while a file in `directory` is replaced, and while what crashes left there is removed:
  /// else what is just being written would be taken for such a leftover. True once the files are
  /// given back: they may be another process's by then.
  private let replacing = Lock(false)

  struct Guarded {
    var store: StoreState
    var tail: LogTail
    var current: CurrentFile
    /// Whether it can be used.
    var isOpen = true
    /// Whether the files are held: from opening to closing.
    var hasFiles = true
    /// Why it can't be used, if not because it was closed.
    var ending: StoreError?
    /// The last own delta in the files, if the state that knew it was torn and is gone.
    var committedAtEnd: UInt64?
    /// `deltas` of the summary that was last given out.
    var summarized: UInt64 = 0
    /// What the last commit has left to be told.
    var untoldSummary: StoreSummary?
    /// Another device has deleted the datastore.
    var isDeleted: Bool { ending?.kind == .deleted }
    /// Own deltas up to here are known to be published.
    var published: UInt64 = 0
    /// The first of them that the folder lacks, or that nobody has looked for yet.
    var lacking: UInt64?
    var lastSync: Int64 = 0
    var syncNumber: UInt32 = 0
    /// What other devices said last that they had applied.
    var words: CutBook.Words = [:]
    /// They were asked since this was opened.
    var hasListened = false
    /// Devices whose deltas the last delivery could not apply because of a cut.
    var held: [DeviceID: DeliveryPlan.HeldDevice] = [:]
    /// Devices to be retired with the next commit.
    var retiring: Set<DeviceID> = []
    /// Bytes of the log that were folded into snapshots since this was opened.
    var foldedBytes = 0
    /// While a compaction runs: what the overlay took when it froze the state. Never while a
    /// snapshot is joined: the thread that commits would wait for may be waiting for that.
    var frozenBytes: Int?
    /// While a snapshot is taken in: commits wait for no compaction then, which waits for that.
    var isTurnTaken = false
    /// Since when what has changed since the snapshot is collected; nil if most of that was there
    /// when it was opened, and nobody knows.
    var overlayBegan: Int64?
    /// The next commit may carry a cut, if so many deltas are outside of the fence.
    var wantsCut: UInt64?
    /// Cuts and seals that were fetched and could not be applied so far.
    var rumours = CutRumours()
  }

  init(_ opened: StoreOpening.Result, options: StoreOptions, machine: Machine) {
    directory = opened.directory
    datastore = opened.current.datastore
    deviceWord = Atomic(opened.current.device)
    isLinked = opened.current.isLinked
    recovery = opened.notes
    self.options = options
    self.machine = machine
    lock = opened.lock
    // What was recovered may be in the system's memory only: nothing is vouched for yet.
    let position = LogPosition(segment: opened.tail.segment?.header.number ?? 0, end: 0)
    committers = GroupCommit(position)
    durableWord = Atomic(Store.word(position))
    var opening = opened.state
    if options.followed != nil { opening.access = .followed }
    // An app that was killed has not loaded anything when it is started again.
    let isLarge = opening.overlayBytes > options.overlayBytes / 2
    state = Lock(
      Guarded(
        store: opening, tail: opened.tail, current: opened.current,
        overlayBegan: isLarge ? nil : machine.clock.now()))
  }

  /// Who writes here. Another one after the store was rejoined to a folder under a new name.
  package var device: DeviceID { DeviceID(rawValue: deviceWord.load(ordering: .acquiring)) }

  /// For those who hold the state's lock.
  func rename(_ device: DeviceID) { deviceWord.store(device.rawValue, ordering: .releasing) }

  /// Opens the datastore in `directory`, creating it if it is not there.
  package static func open(
    _ directory: String, datastore: UInt128, isLinked: Bool, options: StoreOptions,
    machine: Machine
  ) throws(StoreError) -> Store {
    let opened = try StoreOpening.run(
      directory, datastore: datastore, isLinked: isLinked, options: options, machine: machine)
    return Store(opened, options: options, machine: machine)
  }

  /// Runs `body` on the state of an open store, and tells those who watch if it changed something,
  /// unless that is left to the caller.
  @inline(__always)
  func withState<R>(
    tells: Bool = true, _ body: (inout Guarded) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    var hasNews = false
    defer { if hasNews, tells { tell() } }
    return try state.withLock { guarded throws(StoreError) in
      guard guarded.isOpen else { throw guarded.ending ?? Store.closedError }
      let before = guarded.store.journal.localCount
      defer { hasNews = guarded.store.journal.localCount != before }
      return try body(&guarded)
    }
  }

  static let closedError = StoreError(
    .closed, "the datastore is closed; open it again through its manager")

  /// Whether it can be used.
  package var isOpen: Bool { state.withLock { $0.isOpen } }
  /// Whether `close` has given the files back.
  package var isClosed: Bool { state.withLock { !$0.hasFiles } }

  /// What every use of the store throws; nil while it can be used.
  package var ending: StoreError? {
    state.withLock { guarded in
      guarded.isOpen ? nil : guarded.ending ?? Store.closedError
    }
  }

  /// Ends the use of an open store for a reason of its own: every later call throws `ending`, also
  /// after `close`, which is still to be called. A store that is closed stays merely closed.
  package func end(_ ending: StoreError) {
    state.withLock { guarded in
      guard guarded.isOpen else { return }
      guarded.isOpen = false
      guarded.ending = ending
    }
  }

  /// Something failed after the files had all of a change and memory a part of it. Nobody may see
  /// that part: only opening anew brings them together. Returns what to throw, now and from now on.
  func endTorn(_ guarded: inout Guarded, _ cause: StoreError) -> StoreError {
    var error = StoreError(
      .syncFailed,
      "a change is in the files of \(directory), but could not be shown: \(cause.message). Nothing "
        + "is lost: close the datastore and open it again")
    error.log = cause.log
    guarded.isOpen = false
    guarded.ending = error
    // A delta is in the log before it is in the vector.
    guarded.committedAtEnd = max(
      guarded.store.vector[device], guarded.tail.segments.last?.lastOwn ?? 0)
    let access = guarded.store.access
    guarded.store = StoreState(device: device, isAlone: true)
    guarded.store.access = access
    return error
  }

  // MARK: durability

  /// Makes the log durable up to `target`, for all committers that wait.
  func makeDurable(_ target: LogPosition) throws(StoreError) {
    try committers.reach(target) { () throws(StoreError) -> LogPosition in
      try checkPoison()
      let (file, end) = tailPosition()
      // A sealed segment was synced when it was sealed.
      guard let file, end.segment == target.segment else {
        if options.durability == .none, isClosed { throw Store.closedError }
        return target
      }
      do throws(DiskError) { try syncForCommitters(file) } catch {
        // It is of no use that another thread has sealed the segment, and synced it: a failure is
        // told once, to whoever comes first, and after that a sync says yes and means nothing.
        guard error.isOfClosedFile else { throw Store.poisonError(LogError(error)) }
        try checkPoison()
        // Whoever closed it meanwhile had synced it, unless that was for nobody.
        if options.durability != .none { return target }
        throw Store.closedError
      }
      // So a seal that has failed meanwhile counts, too. Whoever seals holds the state's lock until
      // that is said.
      state.withLock { _ in }
      try checkPoison()
      durableWord.store(Store.word(end), ordering: .releasing)
      return end
    }
  }

  /// Everything that this has in its files survives a power cut after this, unless the options ask
  /// for no durability at all. For notes of what is there, which last longer than it might: also of
  /// a store that is not to be used any more, as long as it has its files.
  ///
  /// - Throws: `syncFailed` if an earlier sync has failed: what is there is unknown then.
  package func vouchForNotes() throws(StoreError) {
    try checkPoison()
    if options.durability == .none { return }
    let end = try state.withLock { guarded throws(StoreError) -> LogPosition? in
      guard guarded.hasFiles else { return nil }
      // What was recovered is not in `hasWritten`.
      try settleDoubt(&guarded)
      return Store.end(guarded.tail)
    }
    if let end { try makeDurable(end) }
  }

  /// Up to where the log is written; the start if it was not written since it was opened.
  private static func end(_ tail: borrowing LogTail) -> LogPosition {
    if !tail.hasWritten { return .start }
    return LogPosition(segment: tail.segment?.header.number ?? 0, end: tail.segment?.end ?? 0)
  }

  private func syncForCommitters(_ file: any DiskFile) throws(DiskError) {
    try tailSync.withLock { _ throws(DiskError) in
      do throws(DiskError) { try file.sync() } catch {
        if !error.isOfClosedFile { poison() }
        throw error
      }
    }
  }

  private func tailPosition() -> ((any DiskFile)?, LogPosition) {
    state.withLock { guarded -> ((any DiskFile)?, LogPosition) in
      guard let segment = guarded.tail.segment else { return (nil, .start) }
      return (segment.file, LogPosition(segment: segment.header.number, end: segment.end))
    }
  }

  private static func word(_ position: LogPosition) -> UInt64 {
    position.segment << 32 | UInt64(UInt32(clamping: position.end))
  }

  /// The log is known to be durable up to here; for those who hold the state's lock.
  func vouch(_ position: LogPosition) {
    durableWord.store(Store.word(position), ordering: .releasing)
  }

  /// The number of the next snapshot. None is used again that CURRENT may name on the disk: what is
  /// written under it, and removed when it was for nothing, would be all that the next opening has.
  func nextSnapshot(_ current: CurrentFile) -> UInt64 {
    max(current.snapshot, namedSnapshot.load(ordering: .acquiring)) + 1
  }

  /// CURRENT may name this one on the disk, and not in memory.
  func noteNamed(_ snapshot: UInt64) {
    namedSnapshot.max(snapshot, ordering: .acquiringAndReleasing)
  }

  /// What a frame of a segment written now may vouch for.
  func durableThrough(_ segment: UInt64) -> Int {
    let mark = durableMark
    return mark.segment == segment ? mark.end : 0
  }

  /// What a frame written now may vouch for: everything before it that is known to be durable.
  var durableMark: LogPosition {
    let word = durableWord.load(ordering: .acquiring)
    return LogPosition(segment: word >> 32, end: Int(word & 0xFFFF_FFFF))
  }

  func checkPoison() throws(StoreError) {
    try checkProcess()
    if isSound { return }
    throw StoreError(
      .syncFailed,
      "an earlier sync of \(directory) failed, and what the disk holds since is unknown: close the "
        + "datastore and open it again")
  }

  /// No sync has failed so far.
  var isSound: Bool { !isPoisoned.load(ordering: .sequentiallyConsistent) }

  func poison() { isPoisoned.store(true, ordering: .sequentiallyConsistent) }

  static func poisonError(_ error: LogError) -> StoreError {
    var result = StoreError(
      .syncFailed,
      "the disk failed to make the commit durable (\(error)); close the datastore and open it "
        + "again")
    result.log = error
    return result
  }

  // MARK: small files

  /// Replaces one of the small files beside CURRENT; not once `close` has given the files back.
  package func replaceFile(
    _ name: String, _ bytes: [UInt8], durable: Bool = true
  ) throws(StoreError) {
    // Before the lock below: a forked child may have a copy of it that nobody ever gives back.
    try checkProcess()
    let isOver = try replacing.withLock { isGivenBack throws(StoreError) -> Bool in
      if isGivenBack { return true }
      do throws(LogError) {
        try DurableFile.replace(
          directory: directory, name: name, bytes: bytes, machine: machine, durable: durable)
      } catch { throw StoreError(error) }
      return false
    }
    // Behind that lock, which others take while they hold the state's.
    if isOver { throw ending ?? Store.closedError }
  }

  /// Makes files in `directory`; false, and nothing is done, once `close` has given the files back:
  /// it waits for what is under way. `body` takes no lock of the store, as others take this one
  /// while they hold the state's.
  package func whileHeld<E: Error>(_ body: () throws(E) -> Void) throws(E) -> Bool {
    // A forked child has a copy of that lock, and none of the files.
    guard lock.isOwn else { return false }
    return try replacing.withLock { isGivenBack throws(E) -> Bool in
      if !isGivenBack { try body() }
      return !isGivenBack
    }
  }

  func whileNothingElseIsReplaced<E: Error>(_ body: () throws(E) -> Void) throws(E) {
    try replacing.withLock { _ throws(E) in try body() }
  }

  // MARK: closing

  /// What `accessLevel` is once `close` has taken back what was not synced.
  package var accessLevelAtClose: AccessLevel {
    state.withLock { guarded in
      guard guarded.hasFiles, guarded.store.hasPendingRules else {
        return guarded.store.access.level
      }
      var store = guarded.store
      Store.discardPending(&store)
      return store.access.level
    }
  }

  private static func discardPending(_ store: inout StoreState) {
    let hadRules = store.hasPendingRules
    store.rollBack()
    if !hadRules { return }
    do throws(StoreError) {
      try store.readRules()
      try store.readAccess()
    } catch {
      // What was last known stays.
    }
  }

  /// Discards what was not synced and gives the files back. Closing twice does nothing.
  package func close() throws(StoreError) {
    // In a forked child there is no thread to wait for, and nothing to be written.
    if lock.isOwn { waitForCompaction() }
    if lock.isOwn, isOpen, options.compactsAutomatically, shouldCompactAtClose() {
      // Only the next open would have been quicker: the log has everything.
      do throws(StoreError) { _ = try compact() } catch {
        compaction.withLock { $0.failure = error }
      }
    }
    if lock.isOwn {
      try compactionTurn.withLock { _ throws(StoreError) in try finishClosing() }
    } else {
      // It may have been forked while a compaction had the turn, which ends in its parent only.
      try finishClosing()
    }
  }

  /// With no compaction under way: one that ended later would write to a store that may be open
  /// elsewhere by then.
  private func finishClosing() throws(StoreError) {
    var failure: StoreError?
    // From here on nobody can begin anything that would have to be made durable.
    let end = state.withLock { guarded -> LogPosition? in
      guard guarded.hasFiles else { return nil }
      guarded.isOpen = false
      guarded.hasFiles = false
      Store.discardPending(&guarded.store)
      return Store.end(guarded.tail)
    }
    guard let end else { return }
    if options.durability != .none, lock.isOwn {
      do throws(StoreError) { try makeDurable(end) } catch { failure = error }
    }
    state.withLock { guarded in
      // A child would cut off what its parent has written since.
      if failure == nil, lock.isOwn {
        // Room only; the next open finds the end by itself.
        do { try guarded.tail.segment?.trim() } catch {}
      }
      guarded.tail.segment?.file.close()
      guarded.tail.segment = nil
      guarded.tail.doubt?.file.close()
      guarded.tail.doubt = nil
      let access = guarded.store.access
      guarded.store = StoreState(device: device, isAlone: true)
      guarded.store.access = access
    }
    // Whoever is replacing a file comes to its end first. A forked child has a copy of that lock
    // which nobody may ever give back.
    if lock.isOwn { replacing.withLock { $0 = true } }
    lock.unlock()
    if let failure { throw failure }
  }
}

/// Something that opening a store had to mend or found worth telling.
package struct RecoveryNote: Sendable, Equatable {
  package var path: String
  package var offset: UInt64
  package var message: String
}
