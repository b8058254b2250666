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

  var ledger: BlobLedger { kept.withLock { load(&$0) } }

  private func load(_ kept: inout KeptLedger) -> BlobLedger {
    if let known = kept.known { return known }
    let found = BlobLedger.read(self)
    (kept.known, kept.saved) = (found, found)
    return found
  }

  /// Changes the list. If it can't be written, this process goes by what it says all the same, and
  /// the next change tries again.
  func changeLedger(
    isDurable: Bool = false, _ change: (inout BlobLedger) -> Void
  ) throws(CairnError) {
    try kept.withLock { kept throws(CairnError) in
      var ledger = load(&kept)
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
  func noteUsed(_ hashes: some Sequence<ContentHash>) throws(CairnError) {
    notePinsUsed(hashes)
    let unused = ledger.unused
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
  func noteAllUsed() throws(CairnError) { try noteUsed(Array(ledger.unused.keys)) }

  private func forgetLedger() -> Bool {
    do throws(DiskError) {
      try machine.disk.remove(directory + "/" + FileName.unusedBlobs)
      if isDurable { try machine.disk.syncDirectory(directory) }
      return true
    } catch { return error.reason == .notFound }
  }
}
