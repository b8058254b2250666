public import Cairn
internal import CairnBytes
internal import CairnDisk
internal import Synchronization

/// A save in the background that failed.
public struct CDBSaveFailure: Sendable {
  /// Why.
  public let error: CairnError
}

extension CDBStore {
  /// Writes all changes: a new file is written beside the old one, synced, and takes its name.
  /// Values that did not change are copied as they are, also those of other tools.
  ///
  /// A power cut leaves the old file or the new one. Any failure leaves every change where it was,
  /// and a later save writes it. What is changed while a save is under way waits for the next.
  ///
  /// - Returns: whether there was anything to write.
  /// - Throws: `closed`; what encoding throws; `sizeLimit` if the format can't hold so much;
  ///   `disallowed` if somebody else has replaced the file since it was opened: see ``reload()``;
  ///   what the disk says.
  @discardableResult
  public func save() throws(CairnError) -> Bool {
    try turn.withLock { _ throws(CairnError) in try write() }
  }

  /// Saves soon, on another thread. What is asked for and changed until then is one save; see
  /// ``CDBOptions/saveSoonDelay`` and ``lastSaveFailure``.
  public func saveSoon() {
    timer.ask(after: options.saveSoonDelay, soon: true) { [weak self] in
      self?.saveInBackground()
    }
  }

  /// What went wrong with the last save that nobody waited for; nil if it went well. The changes
  /// are still there, and are tried again with the next change, `saveSoon()` or `save()`, or, if
  /// there is one, after the interval.
  public var lastSaveFailure: CDBSaveFailure? { state.withLock { $0.lastSaveError } }

  /// Sees to it that a change is saved in time.
  func autosave() {
    guard options.autosaveInterval > .zero else { return }
    timer.ask(after: options.autosaveInterval, soon: false) { [weak self] in
      self?.saveInBackground()
    }
  }

  private func saveInBackground() {
    do throws(CairnError) {
      try save()
    } catch {
      state.withLock { $0.lastSaveError = CDBSaveFailure(error: error) }
      if error.code != .closed { autosave() }
    }
  }

  /// Does what `save` says; the caller has the turn.
  func write() throws(CairnError) -> Bool {
    let (file, changes, seen) = try state.withLock { state throws(CairnError) in
      guard state.isOpen else { throw closedError }
      if !state.changes.isEmpty { state.isSaving = true }
      return (state.file, state.changes, state.seen)
    }
    if changes.isEmpty { return false }
    var placed: FileInfo?
    do throws(CairnError) {
      var save = try CDBSave(changes.values.sorted { $0.order < $1.order }, values: values)
      let new = try save.run(
        file, seen: seen, placed: &placed, path: path, options: options, machine: machine,
        largest32: largest32)
      try finish(changes, new, placed)
      return true
    } catch {
      let gone = state.withLock { state in
        let old = state.changes
        state.isSaving = false
        // The new file has its name, but that is not certain to last: it is known, and not used.
        if let placed { (state.seen, state.isBehind) = (placed, true) }
        // Removed keys that the file does not have were kept only for the save.
        if state.mayDropChanges {
          state.changes = state.changes.filter { $0.value.isInFile || $0.value.value != nil }
        }
        return old
      }
      // Behind the lock: the end of a key that is an object is the app's code.
      withExtendedLifetime(gone) {}
      throw error
    }
  }

  /// Goes over to the new file. What was changed since `saved` stays changed.
  private func finish(
    _ saved: [[UInt8]: CDBChange<Key, Value>], _ new: CDBFile, _ info: FileInfo?
  ) throws(CairnError) {
    let gone = try state.withLock { state throws(CairnError) in
      let old = state.changes
      var left: [[UInt8]: CDBChange<Key, Value>] = [:]
      for (name, change) in state.changes where saved[name]?.ticket != change.ticket {
        var change = change
        change.isInFile = try new.find(name.span) != nil
        if change.isInFile || change.value != nil { left[name] = change }
      }
      state.changes = left
      state.file = new
      state.seen = info
      state.opened += 1
      (state.isSaving, state.isBehind) = (false, false)
      state.lastSaveError = nil
      return old
    }
    // Behind the lock: the end of an object is the app's code.
    withExtendedLifetime(gone) {}
  }
}
