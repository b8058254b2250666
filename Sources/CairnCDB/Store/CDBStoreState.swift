internal import CairnDisk

/// All of a store that changes.
struct CDBStoreState<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  var isOpen = false
  /// Nil if there is none yet.
  var file: CDBFile?
  /// What the directory said about the file when it was opened.
  var seen: FileInfo?
  /// By the bytes of the key, as everything is: keys that are equal may have other bytes (texts
  /// with "é" as one character or two), and are two keys to the file.
  var changes: [[UInt8]: CDBChange<Key, Value>] = [:]
  /// Values that were decoded or set: the same object each time.
  var cache: [[UInt8]: Value] = [:]
  var tickets: UInt64 = 0
  /// Counts what was opened: what was read from another file is put into the cache only if this one
  /// has the same.
  var opened: UInt64 = 0
  /// While a save is under way, what the file has is not known: then no change is dropped for being
  /// none.
  var isSaving = false
  /// Whether a file with other contents than `file` may have the name, as its directory could not
  /// be synced: then what the old file has is a change all the same.
  var isBehind = false
  var lastSaveError: CDBSaveFailure?

  /// Whether a change that gives what `file` has need not be saved.
  var mayDropChanges: Bool { !isSaving && !isBehind }

  mutating func nextTicket() -> UInt64 {
    tickets += 1
    return tickets
  }

  /// New keys in the order in which they were added.
  var added: [CDBChange<Key, Value>] {
    changes.values.filter { !$0.isInFile && $0.value != nil }.sorted { $0.order < $1.order }
  }
}
