import Cairn

/// One device's datastore: where it is and how it is opened.
struct StorePlace: Sendable {
  var root: String
  var id = "default"
  /// The shared folder, nil for a local datastore.
  var folder: String?
  var user = "a"
  var durability = Options.Durability.full
  var compactsAutomatically = true

  /// The smallest segments there are, so that the log goes through all it can in little time.
  var options: Options {
    var options = Options()
    options.segmentBytes = 64 << 10
    options.durability = durability
    options.compactsAutomatically = compactsAutomatically
    options.graceSeconds = 0
    options.cacheBytes = 1 << 20
    return options
  }

  func manager() throws(CairnError) -> DatastoreManager {
    try DatastoreManager(
      root: root, account: folder.map { Account(user: user, folder: .directory($0)) },
      options: options)
  }

  func open() throws(CairnError) -> Datastore { try manager().openOrCreateDatastore(id) }

  /// The datastore's directory.
  var directory: String { root + "/p-" + id }
}
