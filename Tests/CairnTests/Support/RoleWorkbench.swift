import Cairn
import CairnDisk
import TestSupport

/// Users around one folder, each with a device.
struct RoleWorkbench {
  let place: TemporaryDirectory

  init() throws { place = try TemporaryDirectory() }

  func manager(_ user: String, device: String? = nil) throws -> DatastoreManager {
    try DatastoreManager(
      root: place.path("root-" + (device ?? user)),
      account: Account(user: user, folder: .directory(place.path("folder"))))
  }

  /// The datastore as another user has it, after fetching what there is.
  func join(
    _ datastore: Datastore, as user: String, manager: DatastoreManager? = nil
  ) async throws -> Datastore {
    try await datastore.exchange()
    let other = try (manager ?? self.manager(user)).openOrCreateDatastore(datastore.id)
    try await other.exchange()
    try other.sync()
    return other
  }

  /// Commits on one, and shows it on the other.
  func send(_ from: Datastore, to: Datastore) async throws {
    try from.sync()
    try await from.exchange()
    try await to.exchange()
    try to.sync()
  }
}
