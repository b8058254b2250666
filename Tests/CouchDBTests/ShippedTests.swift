import Cairn
import CairnDisk
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
    #expect { try CouchDBStore.open("../x", shipped: place, in: manager) } throws: {
      ($0 as? CairnError)?.code == .illegalArgument
    }
    // Neither in its place nor as a draft; the root itself need not be there.
    let left = (try? FileManager.default.subpathsOfDirectory(atPath: place + "/root")) ?? []
    #expect(left.filter { $0.contains("p-couch") } == [])
    let account = Account(user: "ana", folder: .directory(place + "/folder"))
    let linked = try DatastoreManager(root: place + "/linked", account: account)
    #expect { try CouchDBStore.open("couch", shipped: place + "/none", in: linked) } throws: {
      ($0 as? CairnError)?.code == .invalidOperation
    }
  }

  @Test func `what a start left that was killed while it copied goes with the next`() async throws {
    let world = try await CouchWorld()
    try await world.put("a", "{}")
    try await world.pull()
    let shipped = world.directory.path("root")
    let first = world.directory.path("first")
    let draft = first + "/m0000000000000000-p-couch"
    let disk = FileManager.default
    try disk.createDirectory(atPath: draft + "/log", withIntermediateDirectories: true)
    for name in ["CURRENT", "LOCK", "strange", "log/0000000000000001.seg"] {
      try Data("half".utf8).write(to: URL(fileURLWithPath: draft + "/" + name))
    }
    let manager = try DatastoreManager(root: first, options: world.manager.options)
    // Who still copies is left alone.
    let lock = try PosixDisk().lock(draft + "/LOCK")
    #expect { try CouchDBStore.open("couch", shipped: shipped, in: manager) } throws: {
      ($0 as? CairnError)?.code == .alreadyOpen
    }
    #expect(disk.contents(atPath: draft + "/strange") == Data("half".utf8))
    lock.unlock()
    let store = try CouchDBStore.open("couch", shipped: shipped, in: manager)
    #expect(try store.database("notes").ids() == ["a"])
    let kept = try disk.contentsOfDirectory(atPath: first)
    #expect(kept.filter { $0.hasPrefix("m") || $0.hasSuffix(".tmp") } == [])
    #expect(!disk.fileExists(atPath: first + "/p-couch/strange"))
    try store.datastore.close()
  }

  private func files(_ root: String) throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: root) {
      files[name] = FileManager.default.contents(atPath: root + "/" + name)
    }
    return files
  }
}
