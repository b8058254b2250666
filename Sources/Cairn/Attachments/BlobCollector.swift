internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// Finds the contents that nothing refers to: no record, visible, pending or as a roll-back would
/// bring it back; no value that lost a conflict; no record in the trash.
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
    var vector = VersionVector()

    mutating func add(_ reference: BlobReference) {
      if reference.isReadable { hashes.insert(reference.hash) } else { hasNewer = true }
    }
  }

  func reach() throws(CairnError) -> Reach {
    var reach = Reach()
    // Before: what is attached and set after that is found pinned.
    let pinned = home.pinned
    let (found, vector) = try wrapped { () throws(StoreError) in
      try store.values(beginningWith: BlobReference.magic)
    }
    reach.vector = vector
    reach.uses = found.compactMap(AttachmentUse.init)
    for use in reach.uses { reach.add(use.id.reference) }
    let used = reach.hashes
    home.unpin(used, of: pinned)
    reach.hashes.formUnion(pinned.keys)
    // After the records: one that is deleted meanwhile is in the trash by now.
    let trash = try wrapped { () throws(StoreError) in try store.remembered() }
    for field in trash.flatMap(\.fields) { add(field.value, to: &reach) }
    return reach
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
  }

  /// Notes what is unused, and tells of what it has been long enough. `elsewhere` are contents that
  /// this device has in the folder, which go when all devices have known for the grace, too, that
  /// they are unused: somebody's trash may have had them until then. `isKnown` says whether they
  /// do now; `mayGo` whether one that was attached here may go.
  func expired(
    _ reach: Reach, elsewhere: Set<ContentHash> = [], isKnown: Bool = true,
    mayGo: (BlobStore.File) -> Bool = { _ in true }, _ result: inout AttachmentCollection
  ) throws(CairnError) -> Expired {
    let now = home.machine.clock.now()
    let files = try home.list()
    let here = Dictionary(files.map { ($0.hash, $0) }, uniquingKeysWith: { first, _ in first })
    let known = BlobLedger.read(home)
    var ledger = BlobLedger()
    (ledger.looked, ledger.lost) = (now, known.lost)
    var expired = Expired()
    for hash in elsewhere.union(here.keys).subtracting(reach.hashes).sorted() {
      // A clock that was ahead must not have the last word.
      let before = known.unused[hash]
      var entry = BlobLedger.Entry(since: min(before?.since ?? now, now))
      entry.known = (before?.known ?? (isKnown ? now : nil)).map { min($0, now) }
      ledger.unused[hash] = entry
      guard now - entry.since >= grace else {
        result.waiting += 1
        continue
      }
      if let file = here[hash], mayGo(file) { expired.here.append(file) }
      guard elsewhere.contains(hash) else { continue }
      if let since = entry.known, isKnown, now - since >= grace {
        expired.elsewhere.append(hash)
      } else if entry.known != nil, isKnown {
        result.waiting += 1
      } else {
        result.unacknowledged += 1
      }
    }
    try ledger.write(home)
    return expired
  }

  func remove(
    _ files: [BlobStore.File], _ result: inout AttachmentCollection
  ) throws(CairnError) {
    for file in files where try home.remove(file) {
      result.removedHere += 1
      result.bytesHere += file.info.size
    }
  }

  /// For a datastore that has no folder.
  func collectHere() throws(CairnError) -> AttachmentCollection {
    var result = AttachmentCollection()
    guard home.isInUse else { return result }
    let reach = try reach()
    if reach.hasNewer {
      result.needsNewerVersion = true
      return result
    }
    try remove(try expired(reach, &result).here, &result)
    return result
  }
}
