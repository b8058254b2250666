internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// A second store of a datastore, in a directory inside the first one's, that is fed with all that
/// the folder has: what the first one is to stand on from the next sync on.
final class Staging: Sendable {
  /// Reads the folder for the second store; never publishes.
  let exchange: Exchange
  let state = Lock(State())
  /// If it is closed, the next one goes on with its files: for who follows, and has chosen other
  /// tables. Of a history that has lost nothing is gone on with.
  private let isLasting: Bool
  /// The first store.
  private let home: Store

  struct State {
    /// What the store can become; nil as long as something is missing.
    var plan: Rejoining?
    /// What another copy of this device has published, under the nonce of its head.
    var branch: (nonce: UInt64, files: [PublishedBranch.File])?
    /// In how many rounds something of that was not there, and when it is worth a try to give it
    /// back.
    var lacks = 0
    var returns = Retry(version: "")
    /// When the first deltas were made of files that might be another copy's, by name: most need
    /// not be read for that again.
    var beginnings: [String: Int64] = [:]
    /// In how many rounds files were waited for that might be another copy's, by device.
    var waits: [DeviceID: Int] = [:]
    /// Of those before it that had no room.
    var delay: RejoinDelay?
  }

  init(for exchange: Exchange) throws(CairnError) {
    let directory = Staging.directory(of: exchange.store)
    home = exchange.store
    isLasting =
      exchange.following?.mustRebuild ?? false
      && exchange.memory.withLock { $0.forked.isEmpty && $0.cutOff == nil }
    if isLasting {
      do throws(CairnError) {
        self.exchange = try Staging.open(directory, for: exchange, isLasting: true)
        return
      } catch {
        // From the beginning, then.
      }
    }
    do { try exchange.machine.disk.removeTree(directory) } catch { throw CairnError(error) }
    self.exchange = try Staging.open(directory, for: exchange, isLasting: isLasting)
  }

  private static func open(
    _ directory: String, for exchange: Exchange, isLasting: Bool
  ) throws(CairnError) -> Exchange {
    let store = exchange.store
    var options = store.options
    // It can be made again at any time, unless it is to be gone on with.
    if !isLasting { options.durability = .none }
    // Nothing of its own is written there but what is put on top in the end.
    options.cutsAutomatically = false
    let chosen = options
    var made: Store?
    // Nothing in a directory that was removed meanwhile, or is another opening's by now.
    try wrapped { () throws(StoreError) in
      _ = try store.whileHeld { () throws(StoreError) in
        made = try Store.open(
          directory, datastore: store.datastore, isLinked: true, options: chosen,
          machine: exchange.machine)
      }
    }
    guard let staged = made else {
      throw CairnError(.closed, "the datastore was closed", id: exchange.datastoreID)
    }
    do throws(CairnError) {
      let new = try Exchange(
        store: staged, datastoreID: exchange.datastoreID, directory: exchange.directory,
        user: exchange.user, folder: exchange.folder.base,
        graceMilliseconds: exchange.graceMilliseconds,
        // Nobody sees what is in there, and nobody could allow it.
        massDeleteLimit: nil,
        tuning: exchange.tuning,
        machine: exchange.machine, quarantine: exchange.quarantine,
        endsEarly: exchange.endsEarly, transfers: exchange.transfers)
      new.memory.withLock { memory in
        memory.histories.keep(Histories.keptToCompare)
        memory.savedHistories = memory.histories
      }
      return new
    } catch {
      // The first error says more.
      do throws(StoreError) { try staged.close() } catch {}
      throw error
    }
  }

  private static func directory(of store: Store) -> String {
    store.directory + "/" + FileName.rejoining
  }

  /// What a process that was killed has left behind; unless it is gone on with.
  static func removeLeftovers(of store: Store, isWanted: Bool, _ machine: Machine) {
    if !isWanted { do { try machine.disk.removeTree(directory(of: store)) } catch {} }
  }

  /// Gives the files back, and removes them. Best effort: the next opening tries again.
  ///
  /// - Parameter isForNow: Somebody may go on with them.
  func close(isForNow: Bool = false) {
    do throws(StoreError) { try exchange.store.close() } catch {}
    if isForNow, isLasting { return }
    let (disk, directory) = (exchange.machine.disk, exchange.store.directory)
    // Where the first store was closed it may be another's by now.
    _ = home.whileHeld { do { try disk.removeTree(directory) } catch {} }
  }

  /// How the next one waits if this one had no room; nil if it need not. Who follows goes on with
  /// what has come, and writes nothing that would need the room.
  func delay(after error: CairnError) -> RejoinDelay? {
    guard error.code == .diskSpace, exchange.following == nil else { return nil }
    var delay = state.withLock { $0.delay } ?? RejoinDelay()
    delay.fail(error)
    return delay
  }
}

/// When a store is put together again that had no room: each try fetches all that the folder has.
struct RejoinDelay {
  private var retry = Retry(version: "")
  private(set) var reason = ""

  private static let roundsMax = 16

  mutating func fail(_ error: CairnError) {
    // Room comes from people: not in the next round.
    if reason.isEmpty { retry.fail(most: RejoinDelay.roundsMax) }
    retry.fail(most: RejoinDelay.roundsMax)
    reason =
      "there was no room here to put together what the folder has; until the next try, some rounds "
      + "from now, nothing is fetched for that: " + error.message
  }

  /// Asked once a round.
  mutating func isDue() -> Bool { retry.isDue() }
}

/// Whether a store is being put together anew.
enum RejoinPhase: Sendable {
  case none
  /// There was no room for it: a later round tries again.
  case putOff(RejoinDelay)
  /// A round works on it, or is to.
  case staging(Staging)
  /// The next sync can do it.
  case ready(Staging)
  /// A sync is doing it.
  case switching
}

extension Exchange {
  var isRejoining: Bool {
    rejoining.withLock { phase in
      if case .none = phase { false } else { true }
    }
  }

  var isReadyToRejoin: Bool {
    rejoining.withLock { phase in
      if case .ready = phase { true } else { false }
    }
  }

  /// Before a round: no sync may make the store another one meanwhile. False if one is doing so.
  func pauseRejoining() -> Bool {
    rejoining.withLock { phase in
      switch phase {
      case .switching: return false
      case .ready(let staging): phase = .staging(staging)
      case .none, .putOff, .staging: break
      }
      return true
    }
  }

  /// After a round, which writes under one name from beginning to end: the next sync can take what
  /// it has made ready, or, if it failed, what was ready before.
  func resumeRejoining() {
    let isReady = rejoining.withLock { phase -> Bool in
      guard case .staging(let staging) = phase, staging.state.withLock({ $0.plan != nil }) else {
        return false
      }
      phase = .ready(staging)
      return true
    }
    noteInbox(hasArrived: isReady)
  }

  /// Ends it, because there is no reason for it any more, or, for now, because the datastore is
  /// being closed.
  func stopRejoining(isForNow: Bool = false) {
    let staging = rejoining.withLock { phase -> Staging? in
      switch phase {
      case .none, .switching: return nil
      case .putOff:
        phase = .none
        return nil
      case .staging(let staging), .ready(let staging):
        phase = .none
        return staging
      }
    }
    staging?.close(isForNow: isForNow)
  }

  /// Ends it because there is no room: what it has taken is given back.
  func putOff(_ delay: RejoinDelay) {
    stopRejoining()
    rejoining.withLock { $0 = .putOff(delay) }
  }

  /// Why it is not tried in this round, if it is too early; to be asked once in each.
  func reasonToPutOff() -> String? {
    rejoining.withLock { phase -> String? in
      guard case .putOff(var delay) = phase else { return nil }
      let isDue = delay.isDue()
      phase = .putOff(delay)
      return isDue ? nil : delay.reason
    }
  }

  /// What is being put together.
  var staged: Exchange? {
    rejoining.withLock { phase in
      switch phase {
      case .none, .putOff, .switching: nil
      case .staging(let staging), .ready(let staging): staging.exchange
      }
    }
  }

  // MARK: the switch

  /// Makes the store the one that was staged, if that is ready. Returns whether it is.
  func rejoinIfReady(_ parts: inout SyncParts) throws(CairnError) -> Bool {
    let staging = rejoining.withLock { phase -> Staging? in
      guard case .ready(let staging) = phase else { return nil }
      phase = .switching
      return staging
    }
    guard let staging else { return false }
    guard let plan = staging.state.withLock({ $0.plan }) else {
      rejoining.withLock { $0 = .staging(staging) }
      return false
    }
    let old = store.device
    do throws(StoreError) {
      var done = SyncOutcome()
      let outcome = try store.rejoin(plan, committed: { done.committed = $0 }) { packs in
        keep(packs, of: old)
      }
      guard let outcome else {
        rejoining.withLock { $0 = .staging(staging) }
        parts.add(done)
        return false
      }
      finish(staging, isRenamed: store.device != old)
      parts.add(outcome)
      return true
    } catch {
      // Deltas that were put into the staged store may be others the next time.
      let failure = CairnError(error)
      let next = staging.delay(after: failure).map(RejoinPhase.putOff) ?? RejoinPhase.none
      staging.close()
      rejoining.withLock { $0 = next }
      throw failure
    }
  }

  /// What only this copy had, as it was.
  private func keep(_ packs: [[UInt8]], of device: DeviceID) {
    for pack in packs {
      do throws(DecodeError) {
        let header = try PackReader(pack).header
        let (bytes, name) = PublishedSegment(
          datastore: store.datastore, device: device.rawValue, first: header.first,
          last: header.last, chainBefore: 0, chainAfter: 0, pack: pack
        ).encoded()
        quarantine.keepOwn(
          name, bytes,
          reason: "what only this copy of device \(device) had; it is in the datastore as before, "
            + "and published under another name or on top of other deltas")
      } catch {}
    }
  }

  private func finish(_ staging: Staging, isRenamed: Bool) {
    var found = staging.exchange.memory.withLock { $0.histories }
    found.keep(Histories.kept)
    found.rejoinings = store.rejoinings
    let histories = found
    inbox.withLock { inbox in
      for item in inbox.items { inbox.remove(item) }
      // Nobody is asked about deletes that are gone with them.
      (inbox.blocked, inbox.held, inbox.judged, inbox.joinedDeletes) = ([], [], [], 0)
    }
    dropSnapshots()
    let name = FileName.head(device: store.device.rawValue)
    let now = machine.clock.now()
    let publication = memory.withLock { memory -> PublicationFile? in
      var new = Memory(
        own: isRenamed ? Head(datastore: store.datastore, device: store.device) : memory.own)
      new.folderIdentity = memory.folderIdentity
      new.histories = histories
      new.histories.replaced = memory.histories.replaced
      // Files of a name that was left are not this device's to remove any more. A snapshot's has
      // no device's.
      if isRenamed { new.histories.dropReplaced() }
      new.isFirstLook = memory.isFirstLook
      // A new name nobody else has.
      new.isNameSure = isRenamed || memory.isNameSure
      if isRenamed {
        new.publication = PublicationFile(
          folder: memory.folderIdentity ?? memory.publication?.folder ?? 0, confirmedNonce: 0,
          pendingNonce: 0, head: new.own.encoded())
      } else {
        new.publication = memory.publication
        new.isOwnVerified = memory.isOwnVerified
        new.versions[name] = memory.versions[name]
        if let snapshot = new.own.snapshot, new.own.gaps.isEmpty {
          // Made of the other history. One that has what no file has any more stays until the next
          // one has it, too: without it the head could not be read.
          new.own.superseded.append(Head.Superseded(name: snapshot.name, time: now))
          new.own.snapshot = nil
        }
      }
      memory = new
      return isRenamed ? new.publication : nil
    }
    // PUBLISHED of another device is ignored: without it, only the folder is not compared.
    if let publication { do throws(CairnError) { try save(publication) } catch {} }
    saveHistories()
    staging.close()
    store.dropOutboxes()
    rejoining.withLock { $0 = .none }
    following?.noteRebuilt()
    if following != nil { blobs?.noteRebuilt() }
    // Told with the inbox, at the end of the sync.
    condition.set { ($0.isMissing, $0.massDelete) = (true, nil) }
  }

  /// Snapshots that wait were fetched for what the store was: one may be of the history that has
  /// lost, and would be joined by its vector alone. What is still worth it is fetched anew.
  private func dropSnapshots() {
    let held = inbox.withLock { inbox -> Inbox.Snapshot? in
      defer { inbox.forgetHeldSnapshot() }
      return inbox.heldSnapshot?.snapshot
    }
    store.keepIncoming(nil)
    for snapshot in [takeSnapshot(), held] {
      guard let snapshot else { continue }
      // Best effort: what stays goes with the next opening.
      do { try machine.disk.remove(snapshot.path) } catch {}
    }
  }
}
