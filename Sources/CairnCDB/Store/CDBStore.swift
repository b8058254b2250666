public import Cairn
internal import CairnBytes
package import CairnDisk
internal import Synchronization

/// A dictionary in one cdb file: what is asked for is read from the file, what is changed is kept
/// in memory until ``save()`` writes a new file and puts it in the place of the old one.
///
/// Reading costs a look into the file and decoding, once for each key: values stay in a cache and
/// are the same object from then on (``emptyCache()``). Saving copies all of the file but the
/// values that changed, so it costs what the file is large; that is right for data that is read
/// often and changed in batches, and wrong for a log.
///
/// A store may be used from any thread. The file belongs to one store at a time: it may be replaced
/// by others (with cdbmake, say) but then ``save()`` refuses to write over what it has not seen,
/// until ``reload()``.
public final class CDBStore<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// The path of the file.
  public let path: String
  /// What the store was told.
  public let options: CDBOptions

  let keys: CDBKeyCoding<Key>
  let values: CDBValueCoding<Value>
  let machine: Machine
  let timer: CDBSaveTimer
  let state = Lock(CDBStoreState<Key, Value>())
  /// Held by whoever writes the file, opens it or closes it.
  let turn = Lock<Void>(())
  /// Objects may change by themselves, so their bytes are not kept.
  let holdsObjects: Bool
  /// How large a file with numbers of 32 bits may be.
  let largest32: UInt64

  /// A store on a file, which is not touched yet.
  ///
  /// - Parameters:
  ///   - path: the file; it need not be there, its directory must be when it is saved.
  ///   - keys: how keys become bytes.
  ///   - values: how values become bytes.
  public convenience init(
    _ path: String, keys: CDBKeyCoding<Key>, values: CDBValueCoding<Value>,
    options: CDBOptions = CDBOptions()
  ) {
    self.init(
      path, keys: keys, values: values, options: options, machine: .real, delay: .real)
  }

  /// The same on any machine, with a bound for files with numbers of 32 bits.
  package init(
    _ path: String, keys: CDBKeyCoding<Key>, values: CDBValueCoding<Value>,
    options: CDBOptions = CDBOptions(), machine: Machine, delay: CDBDelay, largest32: UInt64 = .max
  ) {
    self.path = path
    self.keys = keys
    self.values = values
    self.options = options
    self.machine = machine
    self.largest32 = largest32
    timer = CDBSaveTimer(delay)
    holdsObjects = Value.self is AnyObject.Type
  }

  /// Saves what was changed, as ``close(discardingChanges:)`` does; nobody hears of it if that
  /// fails.
  deinit {
    timer.cancel(forGood: true)
    // There is nobody left to tell.
    _ = try? save()
  }

  // MARK: opening

  /// Opens the file. One that is not there is an empty store, and made by the first save. Does
  /// nothing if the store is open.
  ///
  /// - Throws: `corrupt` if it is no cdb file, and what the disk says.
  public func open() throws(CairnError) {
    try turn.withLock { _ throws(CairnError) in
      if state.withLock({ $0.isOpen }) { return }
      let (file, seen) = try openFile()
      state.withLock { state in
        state.file = file
        state.seen = seen
        state.isOpen = true
        state.opened += 1
      }
      timer.restart()
    }
  }

  /// The file as it is now, and what the directory says about it.
  func openFile() throws(CairnError) -> (CDBFile?, FileInfo?) {
    let file: any DiskFile
    let seen: FileInfo?
    do {
      // First: if the file is replaced in between, a save notices.
      seen = try machine.disk.info(path)
      if seen == nil { return (nil, nil) }
      file = try machine.disk.open(path, .read)
    } catch {
      if error.reason == .notFound { return (nil, nil) }
      throw CairnError(error)
    }
    return (
      try CDBFile(file: file, path: path, format: nil, cacheBytes: options.cacheBytes), seen
    )
  }

  /// Saves what was changed and closes the file. Does nothing if the store is closed.
  ///
  /// - Parameter discardingChanges: closes without saving.
  /// - Throws: what ``save()`` throws; the store is open then, and keeps all changes.
  public func close(discardingChanges: Bool = false) throws(CairnError) {
    timer.cancel(forGood: true)
    try turn.withLock { _ throws(CairnError) in
      while state.withLock({ $0.isOpen }) {
        if !discardingChanges {
          do throws(CairnError) { _ = try write() } catch {
            timer.restart()
            // What waited was cancelled.
            autosave()
            throw error
          }
        }
        let gone = state.withLock { state -> CDBStoreState<Key, Value>? in
          // Somebody may have changed something since the save.
          guard discardingChanges || state.changes.isEmpty else { return nil }
          let old = state
          // The file is closed when the last walk over it has gone.
          state = CDBStoreState()
          (state.tickets, state.opened) = (old.tickets, old.opened + 1)
          return old
        }
        // Behind the lock: the end of an object is the app's code.
        withExtendedLifetime(gone) {}
      }
    }
  }

  /// Whether the store is open.
  public var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Whether there is a file at the path now.
  ///
  /// - Throws: what the disk says.
  public var exists: Bool {
    get throws(CairnError) {
      do { return try machine.disk.info(path) != nil } catch { throw CairnError(error) }
    }
  }

  /// Reads the file anew, in case that somebody has replaced it. What was changed here stays
  /// changed, and lies over the new file; the cache is emptied of everything else.
  ///
  /// - Throws: `closed`, `corrupt`, and what the disk says; then the file is the one from before.
  public func reload() throws(CairnError) {
    try turn.withLock { _ throws(CairnError) in
      try checkOpen()
      let (file, seen) = try openFile()
      let gone = try state.withLock { state throws(CairnError) in
        let old = state
        var changes = state.changes
        for name in state.changes.keys {
          changes[name]?.isInFile = try file?.find(name.span) != nil
        }
        state.changes = changes.filter { $0.value.isInFile || $0.value.value != nil }
        state.cache = state.changes.compactMapValues(\.value)
        state.file = file
        state.seen = seen
        state.isBehind = false
        state.opened += 1
        return old
      }
      // Behind the lock: the end of an object is the app's code.
      withExtendedLifetime(gone) {}
    }
  }

  func checkOpen() throws(CairnError) {
    if !state.withLock({ $0.isOpen }) { throw closedError }
  }

  var closedError: CairnError {
    CairnError(.closed, "the store \"\(path)\" is not open; call open() first", file: path)
  }
}
