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
    var info: InfoFile
    /// How often the store had been put together anew when that was so.
    var rejoinings: UInt64
    /// What the file says.
    var saved: InfoFile?
    /// The title that the list knows of.
    var toldTitle: String?

    init(info: InfoFile, saved: InfoFile?, rejoinings: UInt64) {
      (self.info, self.saved, toldTitle) = (info, saved, info.view.title)
      self.rejoinings = rejoinings
    }

    /// A store that was put together anew may have fewer deltas than before.
    var age: (UInt64, UInt64) { (rejoinings, info.view.deltas) }

    mutating func take(_ summary: StoreSummary) {
      rejoinings = summary.rejoinings
      info = InfoFile(
        view: CatalogueView(summary), ownDeltas: summary.ownDeltas, published: info.published)
    }

    mutating func notePublished(_ published: UInt64) {
      if published >= info.ownDeltas { info.published = info.view }
    }
  }

  /// Reads the file, and sees to it that it fits the store, in which nothing is pending yet.
  init(_ store: Store, machine: Machine) throws(CairnError) {
    self.store = store
    let saved = try InfoFile.read(store.directory, disk: machine.disk)
    // A crash may have come before the file was written.
    guard let known = saved, known.view.deltas == store.vector.total,
      known.ownDeltas == store.vector[store.device]
    else {
      let summary = try wrapped { () throws(StoreError) in try store.summary() }
      let info = InfoFile(
        view: CatalogueView(summary), ownDeltas: summary.ownDeltas, published: saved?.published)
      state = Lock(State(info: info, saved: saved, rejoinings: summary.rejoinings))
      return
    }
    state = Lock(State(info: known, saved: saved, rejoinings: store.rejoinings))
  }

  var info: InfoFile {
    catchUp()
    return state.withLock { $0.info }
  }

  /// Takes in what was committed since this was told something. Commits are too many to be noted
  /// one by one: they are asked for when somebody looks, and before the file is written.
  private func catchUp() {
    guard let summary = store.committed else { return }
    state.withLock { if $0.age < summary.age { $0.take(summary) } }
  }

  /// After a sync. `published` is how many own deltas are in the folder. Returns whether the title
  /// is another now.
  func note(_ summary: StoreSummary, published: UInt64?) -> Bool {
    let hasNewTitle = state.withLock { state in
      // Of two syncs at once the later one may be noted first.
      let isOld = state.age > summary.age
      if !isOld { state.take(summary) }
      let title = state.info.view.title
      let hasNewTitle = !DatastoreInfo.isSame(title, state.toldTitle)
      state.toldTitle = title
      if isOld { return hasNewTitle }
      if let published { state.notePublished(published) }
      return hasNewTitle
    }
    if hasNewTitle { save() }
    return hasNewTitle
  }

  /// After an exchange.
  func notePublished(_ published: UInt64) {
    catchUp()
    state.withLock { $0.notePublished(published) }
    save()
  }

  /// Writes the file if it would say something new. Best effort: a list that is behind is no
  /// reason for a commit to fail. Returns why it is not written.
  @discardableResult
  func save() -> StoreError? {
    // In a forked child the file is the parent's, and the lock below may be held for ever.
    do throws(StoreError) { try store.checkProcess() } catch { return error }
    catchUp()
    return state.withLock { state -> StoreError? in
      if state.info == state.saved { return nil }
      do throws(StoreError) {
        // One that outlasts the end of the log would tell of commits that nobody was told of.
        try store.vouchForNotes()
        try store.replaceFile(FileName.info, state.info.encoded())
        state.saved = state.info
        return nil
      } catch { return error }
    }
  }
}

extension StoreSummary {
  fileprivate var age: (UInt64, UInt64) { (rejoinings, deltas) }
}
