import CairnDisk
import CairnLog

/// How CURRENT is replaced by one that names another snapshot.
extension Store {
  func next(_ number: UInt64, _ firstSegment: UInt64, _ guarded: Guarded) -> CurrentFile {
    var current = guarded.current
    current.snapshot = number
    current.firstSegment = firstSegment
    current.firstKept = min(firstSegment, keptFrom(firstSegment, guarded))
    current.lastOwnTime = guarded.store.ownTime
    return current
  }

  /// Replaces CURRENT. If that fails the snapshot goes, unless CURRENT names it all the same: the
  /// last step, which makes the new name durable, may have been the one that failed.
  func write(_ current: CurrentFile, _ path: String) throws(StoreError) {
    try checkPlace()
    do throws(LogError) { try current.write(directory: directory, machine: machine) } catch {
      if mayName(current) {
        noteNamed(current.snapshot)
        doubt(current)
      } else {
        remove(path)
      }
      throw StoreError(error)
    }
  }

  /// CURRENT is there under a name whose sync has failed. The next process, which knows nothing of
  /// that, would believe its own sync of the name, and remove what the old one needs: the flag
  /// tells. Best effort: on a disk that takes nothing more there is no way to tell.
  func doubt(_ current: CurrentFile) {
    if current.isUnsettled { return }
    do {
      try checkPlace()
      try current.unsettled.write(directory: directory, machine: machine)
    } catch {}
  }

  /// The same for one that names another content. A power cut may bring the old one back until its
  /// name is durable, and it says so until then: what a later process commits on top of it would be
  /// nothing on top of the old one.
  func writeAnother(_ current: CurrentFile, _ path: String) throws(StoreError) {
    try write(current.unsettled, path)
    writeSettled(current)
  }

  /// The same without the flag, which is durable. Best effort: the next process tries again.
  func writeSettled(_ current: CurrentFile) {
    do {
      try checkPlace()
      try current.write(directory: directory, machine: machine)
    } catch {}
  }

  func mayName(_ current: CurrentFile) -> Bool {
    let path = directory + "/" + FileName.current
    do {
      guard let bytes = try DurableFile.read(path, limit: 4096, disk: machine.disk) else {
        return true
      }
      return try CurrentFile(bytes, path: path).snapshot == current.snapshot
    } catch {
      // What can't be read may say anything.
      return true
    }
  }
}
