import Cairn
import Foundation
import TestSupport
import Testing

@testable import CairnCouchDB
@testable import TestServers

/// A first start from a datastore that an app brought along.
@Suite struct ShippedTests {
  @Test(arguments: CouchPlace.all)
  func `a first start takes the shipped datastore, and pulls what came since`(_ place: CouchPlace)
    async throws
  {
    let world = try await CouchWorld(place)
    for id in ["a", "b"] { try await world.put(id, "{}") }
    try await world.pull()
    try await world.put("c", "{}")
    let shipped = world.directory.path("root")
    let before = try files(shipped)
    let manager = try DatastoreManager(
      root: world.directory.path("first"), options: world.manager.options)
    let store = try CouchDBStore.open("couch", shipped: shipped, in: manager)
    let database = try store.database("notes")
    #expect(try database.ids() == ["a", "b"])
    let server = world.memory?.server
    server?.clearLog()
    #expect(try await world.follower(store).pull().documents == 1)
    #expect(server?.log.count { $0.contains("_all_docs") } ?? 1 == 1)
    try store.datastore.close()
    #expect(try files(shipped) == before)
    // The next start goes on with its own.
    let again = try CouchDBStore.open("couch", shipped: shipped, in: manager)
    #expect(try again.database("notes").ids() == ["a", "b", "c"])
    try again.datastore.close()
    await world.end()
  }

  @Test func `what was not shipped is not found, and leaves nothing`() throws {
    let place = FileManager.default.temporaryDirectory.path + "/cairn-ship-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: place) }
    let manager = try DatastoreManager(root: place + "/root")
    #expect { try CouchDBStore.open("couch", shipped: place + "/none", in: manager) } throws: {
      ($0 as? CairnError)?.code == .notFound
    }
    #expect(throws: CairnError.self) {
      try CouchDBStore.open("../x", shipped: place, in: manager)
    }
    #expect(!FileManager.default.fileExists(atPath: place + "/root/p-couch"))
    let account = Account(user: "ana", folder: .directory(place + "/folder"))
    let linked = try DatastoreManager(root: place + "/linked", account: account)
    #expect { try CouchDBStore.open("couch", shipped: place + "/none", in: linked) } throws: {
      ($0 as? CairnError)?.code == .invalidOperation
    }
  }

  private func files(_ root: String) throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: root) {
      files[name] = FileManager.default.contents(atPath: root + "/" + name)
    }
    return files
  }
}
