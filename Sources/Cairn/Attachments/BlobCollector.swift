internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Finds the contents that nothing refers to: no record, visible, pending or as a roll-back would
/// bring it back; no value that lost a conflict; no record in the trash; no object of an object
/// store that is open.
struct BlobCollector {
  let store: Store
  let home: BlobStore
  /// How long they stay after that, in milliseconds.
  let grace: Int64

  /// Everything that is referred to, and in which state.
  struct Reach: Sendable {
    var uses: [AttachmentUse] = []
    var hashes: Set<ContentHash> = []
    /// Some reference is one that only a newer version can read: it might be to anything.
    var hasNewer = false
    /// Why nobody knows what objects, or records in the trash, refer to.
    var unread: CairnError?
    var vector = VersionVector()
    /// What was attached by this process, before all this was looked at.
    var pinned: [ContentHash: BlobStore.Pin] = [:]
    /// How often something had been attached by then. What came after that is not judged by this:
    /// somebody else who looks may have found it in a record meanwhile, and unpinned it.
    var attachments: UInt64 = 0

    mutating func add(_ reference: BlobReference) {
      if reference.isReadable { hashes.insert(reference.hash) } else { hasNewer = true }
    }
  }

  func reach() throws(CairnError) -> Reach {
    var reach = Reach()
    reach.attachments = home.attachments
    // Before: what is attached and set after that is found pinned.
    let pinned = home.pinned
    let (found, vector) = try wrapped { () throws(StoreError) in
      try store.values(beginningWith: BlobReference.magic)
    }
    reach.vector = vector
    reach.uses = found.compactMap(AttachmentUse.init)
    for use in reach.uses { reach.add(use.id.reference) }
    home.unpin(reach.hashes, of: pinned)
    reach.pinned = pinned
    // After the records: one that is deleted meanwhile is in the trash by now.
    do throws(StoreError) {
      for field in try store.remembered().flatMap(\.fields) { add(field.value, to: &reach) }
    } catch { reach.unread = CairnError(error) }
    addObjects(to: &reach)
    return reach
  }

  /// What has not been uploaded is in no record yet. The store is held, and not the claim, which
  /// ends when its owner lets it go.
  private func addObjects(to reach: inout Reach) {
    guard let objects = home.objectClaim.withLock({ $0.claim?.objects }) else { return }
    do throws(StoreError) {
      for kept in try objects.values(beginningWith: BlobReference.magic).found {
        if let reference = BlobReference(kept.bytes) { reach.add(reference) }
      }
    } catch {
      // One that is closed in this moment, or whose manager is shut down, could have been before.
      if !objects.isClosed { reach.unread = reach.unread ?? CairnError(error) }
    }
  }

  private func add(_ value: FieldValue, to reach: inout Reach) {
    switch value {
    case .bytes(let bytes): if let reference = BlobReference(bytes) { reach.add(reference) }
    case .list(let items): for item in items { add(item, to: &reach) }
    default: break
    }
  }

  /// What may go now.
  struct Expired: Sendable {
    var here: [BlobStore.File] = []
    var elsewhere: [ContentHash] = []
    /// What would go from the folder if all devices were known to know that nothing refers to it.
    var asked: [ContentHash] = []
  }

  /// What is asked before anything goes.
  struct Permission {
    /// Contents that this device has in the folder.
    var elsewhere: Set<ContentHash> = []
    /// How long they stay there after all devices know, in milliseconds; nil: as at home.
    var graceElsewhere: Int64?
    /// Whether all devices know at least this.
    var isKnown: (VersionVector) -> Bool = { _ in true }
    /// Whether one that was attached here may go.
    var mayGo: (BlobStore.File) -> Bool = { _ in true }
  }

  /// However short the grace is: what was attached a moment ago may be about to be set.
  static let pinMilliseconds: Int64 = 86_400_000

  /// Notes what is unused, and tells of what it has been long enough. What this device has in the
  /// folder goes when all devices have known for the grace, too, that it is unused: somebody's
  /// trash may have had it until then.
  func expired(
    _ reach: Reach, _ permission: Permission,
    _ result: inout AttachmentCollection
  ) throws(CairnError) -> Expired {
    let files = try home.list()
    let here = Dictionary(files.map { ($0.hash, $0) }, uniquingKeysWith: { first, _ in first })
    let pinned = reach.pinned.merging(home.pinned) { _, new in new }
    let ended = home.endPins(pinned, after: max(grace, BlobCollector.pinMilliseconds))
    let used = reach.hashes.union(pinned.keys.filter { ended[$0] == nil })
    home.sweepParts(keeping: used, after: grace)
    do throws(StoreError) { try store.purgeTrash() } catch {
      // What is too old is not read in any case.
    }
    var expired = Expired()
    var counted = result
    do throws(CairnError) {
      try home.changeLedger { ledger in
        // What was attached since has pinned itself, and waits for this to be written.
        let found = permission.elsewhere.union(here.keys).subtracting(used)
          .subtracting(home.pinned.keys).subtracting(home.attached(after: reach.attachments))
        note(found, ended, reach, permission, in: &ledger)
        for hash in found.sorted() {
          guard let entry = ledger.unused[hash] else { continue }
          judge(hash, entry, ledger.looked, here[hash], permission, &expired, &counted)
        }
      }
    } catch {
      // A full disk: what is to go makes room, and then it is tried again.
    }
    result = counted
    return expired
  }

  private func note(
    _ found: Set<ContentHash>, _ ended: [ContentHash: Int64], _ reach: Reach,
    _ permission: Permission, in ledger: inout BlobLedger
  ) {
    let now = home.machine.clock.now()
    let before = ledger.unused
    ledger.looked = now
    ledger.unused = [:]
    for hash in found {
      var entry =
        before[hash]
        ?? BlobLedger.Entry(since: ended[hash] ?? now, known: nil, vector: reach.vector)
      // A clock that was ahead must not have the last word.
      entry.since = min(entry.since, now)
      entry.known = (entry.known ?? (permission.isKnown(entry.vector) ? now : nil)).map {
        min($0, now)
      }
      ledger.unused[hash] = entry
    }
  }

  private func judge(
    _ hash: ContentHash, _ entry: BlobLedger.Entry, _ now: Int64, _ file: BlobStore.File?,
    _ permission: Permission, _ expired: inout Expired, _ result: inout AttachmentCollection
  ) {
    guard now.elapsed(since: entry.since) >= grace else {
      result.waiting += 1
      return
    }
    if let file, permission.mayGo(file) { expired.here.append(file) }
    guard permission.elsewhere.contains(hash) else { return }
    guard let known = entry.known, permission.isKnown(entry.vector) else {
      result.unacknowledged += 1
      expired.asked.append(hash)
      return
    }
    if now.elapsed(since: min(known, now)) >= permission.graceElsewhere ?? grace {
      expired.elsewhere.append(hash)
    } else {
      result.waiting += 1
    }
  }

  /// They are gone, or in use: nothing is to be remembered of them. Best effort: the next look
  /// finds that. Also writes what could not be written before there was room.
  func forget(_ gone: Set<ContentHash>) {
    do throws(CairnError) {
      try home.changeLedger { for hash in gone { $0.unused[hash] = nil } }
    } catch {}
  }

  /// Throws the first error when all have been tried: one that can't be removed keeps no others
  /// here. `lookedAt`: the reach's `attachments`.
  func remove(
    _ files: [BlobStore.File], lookedAt: UInt64, _ result: inout AttachmentCollection
  ) throws(CairnError) {
    var failure: CairnError?
    for file in files {
      do throws(CairnError) {
        guard try home.remove(file, lookedAt: lookedAt) else { continue }
        result.removedHere += 1
        result.bytesHere += file.info.size
      } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  /// For a datastore that has no folder.
  func collectHere() throws(CairnError) -> AttachmentCollection {
    var result = AttachmentCollection()
    guard home.isInUse else { return result }
    let reach = try reach()
    if let error = reach.unread { throw error }
    if reach.hasNewer {
      result.needsNewerVersion = true
      return result
    }
    let expired = try expired(reach, Permission(), &result)
    try remove(expired.here, lookedAt: reach.attachments, &result)
    forget(Set(expired.here.map(\.hash)))
    return result
  }
}
