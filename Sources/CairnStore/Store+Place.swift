import CairnDisk
import CairnLog

/// Whether the files that a store is about to write are still its own.
extension Store {
  /// A child that was forked from the process that opened the store has its files, too, and would
  /// write over what that process writes.
  package func checkProcess() throws(StoreError) {
    guard !lock.isOwn else { return }
    throw StoreError(
      .alreadyOpen,
      "the datastore in \(directory) was opened by the process that this one was forked from, and "
        + "can only be changed there; to use it here, close it there and open it anew")
  }

  /// To be asked before a file is made or replaced. Somebody may have moved the directory while it
  /// was open, and put another one in its place, as with a backup that is restored: that one has
  /// files of the same names, and nobody's lock.
  func checkPlace() throws(StoreError) {
    guard !lock.isInPlace else { return }
    throw StoreError(
      LogError(
        DiskError(
          reason: .notFound, operation: "go on in", path: directory,
          detail: "it was moved, replaced or removed while the datastore was open")))
  }
}
