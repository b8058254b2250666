import Cairn
import CairnDisk
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Where something is counts, not by which links it was reached.
@Suite struct LinkedPathTests {
  private let place: TemporaryDirectory

  init() throws {
    place = try TemporaryDirectory()
    for name in ["folder/sub", "apart"] { try PosixDisk().createDirectory(place.path(name)) }
    for (target, name) in [("folder", "link"), ("folder/sub", "deep"), ("apart", "other")] {
      #expect(unsafe symlink(place.path(target), place.path(name)) == 0)
    }
  }

  private func account(_ folder: String) -> Account {
    Account(user: "ann", folder: .directory(place.path(folder)))
  }

  /// What is behind the links need not be there yet.
  @Test func `links lead no root into the folder, and no folder into the root`() throws {
    for (root, folder) in [
      ("link", "folder"), ("link/root", "folder"), ("link/not/yet", "folder"), ("deep", "folder"),
      ("notyet/../link/root", "folder"), ("apart/no/../../deep/../x", "folder"),
      ("./link/../link", "folder"), ("folder", "deep"), ("folder/sub", "link"), ("deep/x", "deep"),
    ] {
      let error = #expect(throws: CairnError.self, "\(root) \(folder)") {
        _ = try DatastoreManager(root: place.path(root), account: account(folder))
      }
      #expect(error?.code == .parent, "\(root) \(folder)")
    }
    for (root, folder) in [("other", "folder"), ("other/root", "link"), ("apart/root", "deep")] {
      let manager = try DatastoreManager(root: place.path(root), account: account(folder))
      #expect(!manager.isLocal)
    }
    let accounts = try AccountManager(directory: place.path("other/accounts"))
    #expect(code { _ = try accounts.link(account("apart")) } == .parent)
    let linked = try accounts.link(account("folder"))
    #expect(try accounts.link(account("link")) === linked)
    #expect(try accounts.linkedAccounts == [linked])
  }

  /// The lock of a root is taken once, by whatever path it is reached again.
  @Test func `local datastores are moved into a root that is a link`() throws {
    let local = try DatastoreManager(root: place.path("local"))
    let datastore = try local.openOrCreateDatastore("n")
    try datastore.add("r")
    try datastore.close()
    let linked = try DatastoreManager(root: place.path("other"), account: account("folder"))
    #expect(try local.migrate(to: linked).datastores.map(\.id) == ["n"])
    #expect(try PosixDisk().list(place.path("local")).map(\.name) == ["MIGRATION.LOCK"])
    #expect(try PosixDisk().info(place.path("apart/MIGRATION")) == nil)
    let moved = try linked.openDatastore("n")
    #expect(try moved.ids() == ["r"])
    try moved.close()
  }

  /// Behind a link the system goes up from where that leads: `deep/..` is the folder.
  @Test func `a step up behind a link is taken where the system takes it`() throws {
    let error = #expect(throws: CairnError.self) {
      _ = try DatastoreManager(root: place.path("deep/../root"), account: account("folder"))
    }
    #expect(error?.code == .parent)
  }
}
