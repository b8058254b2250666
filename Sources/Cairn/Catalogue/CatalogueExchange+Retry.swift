internal import CairnDisk
internal import Synchronization

/// A file of the list that can't be used may have been damaged on its way only, or judged by a
/// folder that was not the right one: it is read again, ever more seldom while it stays bad.
extension CatalogueExchange {
  /// What is wrong with a file that is not to be read in this round; to be asked once a round.
  func verdict(on entry: FolderEntry) -> Verdict? {
    memory.withLock { memory in
      guard let known = memory.refused[entry.name], known.version == entry.version else {
        return nil
      }
      // A copy, or none of ours: it will say nothing new later either.
      if case .ignored = known.verdict { return known.verdict }
      return memory.retries[entry.name]?.isDue() == true ? nil : known.verdict
    }
  }

  func refuse(_ entry: FolderEntry, _ verdict: Verdict) {
    memory.withLock { memory in
      memory.refused[entry.name] = (entry.version, verdict)
      Retry.fail(entry, in: &memory.retries)
    }
  }

  /// It is good.
  func forgive(_ name: String) {
    memory.withLock { memory in
      memory.refused[name] = nil
      memory.retries[name] = nil
    }
  }
}
