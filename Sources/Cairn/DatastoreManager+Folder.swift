internal import CairnDisk
internal import CairnLog
internal import CairnStore

/// What the files of datastores tell of the folders that they were exchanged with.
extension DatastoreManager {
  /// Whether any datastore here was ever exchanged.
  package func hasExchanged() throws(CairnError) -> Bool {
    for place in try places() {
      if try StoredLinkage.wasExchanged(root + "/" + place.directory, disk: machine.disk) {
        return true
      }
    }
    return false
  }

  /// Whether a datastore of this manager was. One that is followed came from its folder.
  package func hasExchanged(_ datastore: Datastore) throws(CairnError) -> Bool {
    if following != nil { return true }
    return try StoredLinkage.wasExchanged(datastore.store.directory, disk: machine.disk)
  }

  /// Whether a datastore of this manager is known to be published in another folder than one that
  /// is beside it.
  package func isElsewhere(_ datastore: Datastore) throws(CairnError) -> Bool {
    let (directory, disk) = (datastore.store.directory, machine.disk)
    guard let own = PublicationFile.readable(directory, disk: disk)?.folder else { return false }
    return try places().contains { place in
      let other = PublicationFile.readable(root + "/" + place.directory, disk: disk)
      return other.map { $0.folder != own } ?? false
    }
  }
}
