internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// Deletes of many datastores at once wait for consent.
extension CatalogueExchange {
  /// Takes what deletes too much out of `found`, and returns the ids that it is about. The files
  /// that say so are kept in memory as they are; what goes on is as if they did not mention these
  /// datastores. Their version is not noted, so that a later process looks at them anew.
  func hold(
    _ found: inout [UInt64: InstallationFile.Other], _ known: InstallationFile,
    _ views: [(id: String, entry: CatalogueEntry)], _ limit: MassDeleteLimit?
  ) -> [String] {
    var there = known.merged.filter { $0.value.view != nil }
    // The list may be new to a root that has exchanged its datastores already. Empty ones have
    // nothing to lose, nor does what was only written here: that is rescued.
    for (id, entry) in views where there[id] == nil && (entry.view?.deltas ?? 0) > 0 {
      if entry.generation == known.entry(id).generation { there[id] = entry }
    }
    // Which generation each would get; one's own deletes are not among them.
    var deleted: Set<String> = []
    for other in found.values {
      for (id, entry) in other.file.entries {
        if let own = there[id], entry.generation > own.generation { deleted.insert(id) }
      }
    }
    guard let limit, deleted.count > limit.datastores(of: there.count) else {
      memory.withLock { $0.held = [:] }
      return []
    }
    var held: [UInt64: InstallationFile.Other] = [:]
    for (number, other) in found {
      let ids = deleted.filter {
        (other.file.entries[$0]?.generation ?? 0) > (there[$0]?.generation ?? 0)
      }
      if ids.isEmpty { continue }
      held[number] = other
      var masked = other
      masked.version = ""
      for id in ids { masked.file.entries[id] = known.others[number]?.file.entries[id] }
      found[number] = masked
    }
    let kept = held
    memory.withLock { $0.held = kept }
    return deleted.sorted()
  }
}
