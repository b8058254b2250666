internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// The list of unused contents: read once, and written when it changes.
extension BlobStore {
  struct KeptLedger: Sendable {
    /// nil: it was not read yet.
    var known: BlobLedger?
    /// What the file says.
    var saved = BlobLedger()
  }

  /// For a look. If it can't be read now, that shows none, and the next look tries again.
  var ledger: BlobLedger {
    kept.withLock { kept in
      if let known = kept.known { return known }
      do throws(CairnError) {
        let found = try BlobLedger.read(self)
        (kept.known, kept.saved) = (found, found)
        return found
      } catch { return BlobLedger() }
    }
  }

  /// For who goes on from it. What can't be read calls contents unused that are used from now on,
  /// and a later process may be able to read it: it has to go.
  private func load(_ kept: inout KeptLedger) throws(CairnError) -> BlobLedger {
    if let known = kept.known { return known }
    var found = BlobLedger()
    do throws(CairnError) { found = try BlobLedger.read(self) } catch {
      if !forgetLedger() { throw error }
    }
    (kept.known, kept.saved) = (found, found)
    return found
  }

  /// Changes the list. If it can't be written, this process goes by what it says all the same, and
  /// the next change tries again.
  func changeLedger(
    isDurable: Bool = false, _ change: (inout BlobLedger) -> Void
  ) throws(CairnError) {
    try kept.withLock { kept throws(CairnError) in
      var ledger = try load(&kept)
      change(&ledger)
      kept.known = ledger
      if ledger == kept.saved { return }
      do throws(CairnError) {
        try ledger.write(self, isDurable: isDurable)
        kept.saved = ledger
      } catch {
        // Better none than one that calls unused what was used meanwhile.
        if ledger.isLater(than: kept.saved), forgetLedger() { kept.saved = BlobLedger() }
        throw error
      }
    }
  }

  /// Contents are in use, or were a moment ago: for how long they were not is over, also for a
  /// process that comes after a crash.
  func noteUsed(_ hashes: some Collection<ContentHash>) throws(CairnError) {
    if hashes.isEmpty { return }
    notePinsUsed(hashes)
    let unused = try unused()
    if unused.isEmpty { return }
    let used = hashes.filter { unused[$0] != nil }
    if used.isEmpty { return }
    do throws(CairnError) {
      try changeLedger(isDurable: isDurable) { for hash in used { $0.unused[hash] = nil } }
    } catch {
      let isForgotten = kept.withLock { kept in used.allSatisfy { kept.saved.unused[$0] == nil } }
      if !isForgotten { throw error }
    }
  }

  /// The state came as a whole: what was used on the way to it can't be told.
  func noteAllUsed() throws(CairnError) { try noteUsed(Array(try unused().keys)) }

  private func unused() throws(CairnError) -> [ContentHash: BlobLedger.Entry] {
    try kept.withLock { kept throws(CairnError) in try load(&kept).unused }
  }

  private func forgetLedger() -> Bool {
    do throws(DiskError) {
      try machine.disk.remove(directory + "/" + FileName.unusedBlobs)
      if isDurable { try machine.disk.syncDirectory(directory) }
      return true
    } catch { return error.reason == .notFound }
  }
}
