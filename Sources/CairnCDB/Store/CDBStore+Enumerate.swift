public import Cairn
internal import CairnBytes
internal import CairnDisk
internal import Synchronization

extension CDBStore {
  /// A walk over all keys and values: those of the file in its order, then those that were added,
  /// in the order in which they were. It shows the store as it is now, whatever is changed or saved
  /// meanwhile.
  ///
  /// - Throws: `closed`.
  public func entries() throws(CairnError) -> CDBEntries<Key, Value> {
    try state.withLock { state throws(CairnError) in
      guard state.isOpen else { throw closedError }
      return CDBEntries(self, file: state.file, changes: state.changes, added: state.added)
    }
  }

  /// All keys, in the order of ``entries()``. Reads the whole file, decodes no values.
  public func allKeys() throws(CairnError) -> [Key] {
    let entries = try entries()
    var keys: [Key] = []
    while let key = try entries.nextKey() { keys.append(key) }
    return keys
  }

  /// All values, in the order of ``entries()``.
  public func allValues() throws(CairnError) -> [Value] {
    let entries = try entries()
    var values: [Value] = []
    while let entry = try entries.next() { values.append(entry.value) }
    return values
  }

  /// All keys with their values, which are not put into the cache. Of keys that are equal and have
  /// other bytes, as texts may, it holds the last one.
  public func dictionary() throws(CairnError) -> [Key: Value] {
    let entries = try entries()
    var result: [Key: Value] = [:]
    while let entry = try entries.next() { result[entry.key] = entry.value }
    return result
  }

  /// How many keys have values. The first call after opening or saving reads the whole file.
  public var count: Int {
    get throws(CairnError) {
      let (file, added, removed) = try state.withLock {
        state throws(CairnError) -> (CDBFile?, Int, Int) in
        guard state.isOpen else { throw closedError }
        return (
          state.file, state.added.count,
          state.changes.values.filter { $0.isInFile && $0.value == nil }.count
        )
      }
      return (try file?.tally().keys ?? 0) + added - removed
    }
  }
}

/// Walks over the keys and values of a ``CDBStore``; made by ``CDBStore/entries()``. May be used
/// from any thread; what one takes, no other gets.
public final class CDBEntries<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct State {
    var walk: CDBWalk?
    var places: CDBPlaces?
    var added: ArraySlice<CDBChange<Key, Value>>
  }

  private let store: CDBStore<Key, Value>
  private let file: CDBFile?
  private let changes: [[UInt8]: CDBChange<Key, Value>]
  private let state: Lock<State>

  init(
    _ store: CDBStore<Key, Value>, file: CDBFile?, changes: [[UInt8]: CDBChange<Key, Value>],
    added: [CDBChange<Key, Value>]
  ) {
    self.store = store
    self.file = file
    self.changes = changes
    state = Lock(
      State(
        walk: file.map { CDBWalk($0) }, places: file.map { CDBPlaces($0) }, added: added[...]))
  }

  /// The next key with its value; nil when there are no more. A value that was read or set before
  /// is the same object; others are decoded, and not put into the cache.
  ///
  /// - Throws: `corrupt` and `badType` if a key or value can't be read; the next call goes on
  ///   behind it, unless the file's structure is damaged: then it throws again.
  public func next() throws(CairnError) -> (key: Key, value: Value)? {
    guard let found = try step(withValue: true) else { return nil }
    if let value = found.value { return (found.key, value) }
    if let value = store.cached(found.name, of: file) { return (found.key, value) }
    return (found.key, try store.values.load(found.stored.span))
  }

  /// The next key, whose value is skipped.
  public func nextKey() throws(CairnError) -> Key? { try step(withValue: false)?.key }

  private struct Step {
    var key: Key
    var name: [UInt8]
    /// Nil if it has to be decoded from `stored`.
    var value: Value?
    var stored: [UInt8] = []
  }

  private func step(withValue: Bool) throws(CairnError) -> Step? {
    try state.withLock { state throws(CairnError) in
      while let record = try state.walk?.next() {
        guard let name = try state.walk?.copy(record.keyStart, record.keyLength) else { break }
        // A key with several values shows its first one.
        guard try state.places?.place(of: record, name)?.isFirst == true else { continue }
        let key = try store.keys.decode(name)
        switch changes[name]?.content {
        case .removed: continue
        case .value(let value, _): return Step(key: key, name: name, value: value)
        case nil:
          let stored =
            withValue ? try state.walk?.copy(record.valueStart, record.valueLength) : nil
          return Step(key: key, name: name, stored: stored ?? [])
        }
      }
      guard let change = state.added.popFirst() else { return nil }
      return Step(key: change.key, name: change.name, value: change.value)
    }
  }
}

extension CDBStore {
  /// A value that was decoded before, from that very file.
  func cached(_ name: [UInt8], of file: CDBFile?) -> Value? {
    state.withLock { state in
      state.file === file && state.changes[name] == nil ? state.cache[name] : nil
    }
  }
}
