internal import CairnDisk
internal import CairnLog
internal import Synchronization

extension DatastoreManager {
  private static let sharedSlot = Lock<DatastoreManager?>(nil)

  /// A convenient place for the app's manager; nil until the app puts one there.
  public static var shared: DatastoreManager? {
    get { sharedSlot.withLock { $0 } }
    set {
      // The old one, and what it holds of the app's, goes after this, not under the lock.
      let old = sharedSlot.withLock { slot in
        defer { slot = newValue }
        return slot
      }
      withExtendedLifetime(old) {}
    }
  }

  /// The manager of an account's datastores: the only one until it is shut down.
  ///
  /// - Throws: `shutdown` if the account was unlinked.
  public static func manager(for account: LinkedAccount) throws(CairnError) -> DatastoreManager {
    try account.accountManager.manager(for: account)
  }

  /// The user's organisation is this one from now on; role `team` goes by it.
  func setOrganization(_ name: String?) {
    organization.withLock { $0 = name }
    for datastore in openDatastores {
      // One that is being closed needs no role.
      do throws(CairnError) { try datastore.limitAccess() } catch {}
    }
  }

  /// The user's role in a datastore that is on this device, as it was when that was last in use.
  func role(of copy: Copy) -> Role {
    guard !isLocal, copy.id.hasPrefix(".") else { return .owner }
    if let open = openDatastores.first(where: { $0.id == copy.id }) { return open.effectiveRole }
    return RoleNote(directory: root + "/" + copy.directory, machine: machine).read() ?? .owner
  }
}
