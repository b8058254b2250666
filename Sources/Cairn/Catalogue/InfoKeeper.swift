internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Keeps the INFO file of an open datastore up to date. A new title is written at once, since that
/// is what lists show; everything else when the datastore is closed or has published something.
final class InfoKeeper: Sendable {
  private let store: Store
  private let state: Lock<State>

  private struct State {
    var info: InfoFile?
    /// What the file says.
    var saved: InfoFile?

    mutating func notePublished(_ published: UInt64) {
      guard let info, published >= info.ownDeltas else { return }
      self.info?.published = info.view
    }
  }

  /// Reads the file, and sees to it that it fits the store, in which nothing is pending yet.
  init(_ store: Store, machine: Machine) throws(CairnError) {
    self.store = store
    let saved = try InfoFile.read(store.directory, disk: machine.disk)
    var info = saved
    // A crash may have come before the file was written.
    if info?.view.deltas != store.vector.total || info?.ownDeltas != store.vector[store.device] {
      let summary = try wrapped { () throws(StoreError) in try store.summary() }
      info = InfoFile(
        view: CatalogueView(summary), ownDeltas: summary.ownDeltas, published: saved?.published)
    }
    state = Lock(State(info: info, saved: saved))
  }

  var info: InfoFile? { state.withLock { $0.info } }

  /// After a sync. `published` is how many own deltas are in the folder. Returns whether the title
  /// is another now.
  func note(_ summary: StoreSummary, published: UInt64?) -> Bool {
    let hasNewTitle = state.withLock { state in
      let view = CatalogueView(summary)
      // Of two syncs at once the later one may be noted first.
      if let info = state.info, info.view.deltas > view.deltas { return false }
      let hasNewTitle = state.info?.view.title != view.title
      state.info = InfoFile(
        view: view, ownDeltas: summary.ownDeltas, published: state.info?.published)
      if let published { state.notePublished(published) }
      return hasNewTitle
    }
    if hasNewTitle { save() }
    return hasNewTitle
  }

  /// After an exchange.
  func notePublished(_ published: UInt64) {
    state.withLock { $0.notePublished(published) }
    save()
  }

  /// Writes the file if it would say something new. Best effort: a list that is behind is no
  /// reason for a commit to fail.
  func save() {
    state.withLock { state in
      guard let info = state.info, info != state.saved else { return }
      do {
        try store.replaceFile(FileName.info, info.encoded())
        state.saved = info
      } catch {}
    }
  }
}
