import Cairn
import CairnDisk
import CairnHTTP
import Foundation
import Synchronization
import TestSupport

@testable import CairnCouchDB
@testable import TestServers

/// Where a test's database is: in our own server, or, if `COUCHDB_URL` says so, in a real one.
enum CouchPlace: Sendable, CaseIterable {
  case memory
  case real

  static let url = ProcessInfo.processInfo.environment["COUCHDB_URL"]
  /// Whether that has a user and a password in it.
  static let hasUser = url.flatMap { URLComponents(string: $0)?.password } != nil
  /// Those that there are.
  static let all: [CouchPlace] = url == nil ? [.memory] : [.memory, .real]
}

/// A database on a server, and a datastore that it is followed into.
final class CouchWorld: Sendable {
  /// Nil for a real server.
  let memory: MemoryCouch?
  let name: String
  let url: String
  let settings: ServerSettings
  let directory: TemporaryDirectory
  let manager: DatastoreManager
  let writer: CouchClient

  init(_ place: CouchPlace = .memory, limits: Limits = CouchWorld.limits) async throws {
    var settings = ServerSettings(credentials: .none)
    let origin: String
    if place == .real, let real = CouchPlace.url, var parts = URLComponents(string: real) {
      if let user = parts.user, let password = parts.password {
        settings.credentials = .given(.password(user: user, password: password))
      }
      (parts.user, parts.password, parts.path) = (nil, nil, "")
      origin = parts.string ?? real
      memory = nil
    } else {
      let memory = try MemoryCouch()
      origin = memory.server.origin
      self.memory = memory
    }
    name = "cairn-test-\(UInt32.random(in: 0 ... .max))"
    url = origin + "/" + name
    self.settings = settings
    directory = try TemporaryDirectory()
    var options = Options()
    options.limits = limits
    manager = try DatastoreManager(root: directory.path("root"), options: options)
    writer = CouchClient(try CouchAddress(url), settings, usesSession: false) { _ in }
    try await create()
  }

  static let limits = Limits(recordCount: 1_000_000, datastoreBytes: 1 << 30, deltaBytes: 16 << 20)

  // MARK: writing to the server

  @discardableResult
  func send(
    _ method: String, _ names: [String], query: [(String, String)] = [], _ body: [UInt8] = [],
    type: String = "application/json"
  ) async throws -> JSONText {
    var path = writer.address.path()
    for name in names { path += "/" + PercentCoding.encode(name) }
    var request = HTTPRequest(
      method, writer.address.origin, path, accepted: [200, 201, 202])
    request.query = query.map { (name: $0.0, value: $0.1) }
    request.headers = [("Content-Type", type)]
    request.body = .bytes(body)
    return try await writer.json(request, limit: 1 << 30).value
  }

  func create() async throws { try await send("PUT", []) }
  func drop() async throws { try await send("DELETE", []) }

  /// Puts a document; its new revision. `members` begin with a brace.
  @discardableResult
  func put(_ id: String, _ members: String, over revision: String? = nil) async throws -> String {
    let body = members.dropFirst().drop { $0 == " " }
    let head = revision.map { "{\"_rev\":\"\($0)\"" + (body == "}" ? "" : ",") } ?? "{"
    return try await send("PUT", [id], Array((head + body).utf8)).member("rev")?.string ?? ""
  }

  func delete(_ id: String, _ revision: String) async throws {
    try await send("DELETE", [id], query: [("rev", revision)])
  }

  func attach(
    _ id: String, _ revision: String, _ title: String, _ bytes: [UInt8],
    type: String = "application/octet-stream"
  ) async throws -> String {
    try await send("PUT", [id, title], query: [("rev", revision)], bytes, type: type)
      .member("rev")?.string ?? ""
  }

  /// Puts revisions as other servers would send them.
  func replicate(_ documents: String...) async throws {
    let body = "{\"new_edits\":false,\"docs\":[\(documents.joined(separator: ","))]}"
    try await send("POST", ["_bulk_docs"], Array(body.utf8))
  }

  /// Puts a document behind everybody's back.
  func placeDocument(_ id: String, revision: String = "1-x", _ attachments: [String: Int] = [:]) {
    memory?.change(name) { database in
      database.place += 1
      let stubs = attachments.mapValues { count in
        MemoryCouch.Attachment(
          type: "image/png", plain: [UInt8](repeating: 7, count: count), kept: [], isPacked: false,
          position: 1, digest: "md5-x")
      }
      let leaf = MemoryCouch.Leaf(
        revision: revision, isDeleted: false, members: "", attachments: stubs)
      database.documents[id] = MemoryCouch.Document(leaves: [leaf], place: database.place)
    }
  }

  /// Places another database on the same server, with these documents; its address. As of a server
  /// that does not know when a database was created.
  func placeDatabase(_ other: String, _ ids: [String]) -> String {
    var database = MemoryCouch.Database(instance: "0")
    for id in ids {
      let leaf = MemoryCouch.Leaf(revision: "1-x", isDeleted: false, members: "", attachments: [:])
      database.place += 1
      database.documents[id] = MemoryCouch.Document(leaves: [leaf], place: database.place)
    }
    let made = database
    memory?.state.withLock { $0.databases[other] = made }
    return writer.address.origin + "/" + other
  }

  // MARK: following

  /// Opens the datastore, which has to be closed by now.
  func store() throws -> CouchDBStore {
    CouchDBStore(try manager.openOrCreateDatastore("couch"))
  }

  func follower(
    _ store: CouchDBStore, _ change: (inout CouchDBOptions) -> Void = { _ in }
  ) throws -> CouchDBFollower {
    var options = CouchDBOptions()
    options.server = settings
    options.server.attempts = 3
    options.pause = { _ in await Task.yield() }
    change(&options)
    return try CouchDBFollower(store.database("notes", url: url), options: options)
  }

  /// Pulls once and closes again.
  @discardableResult
  func pull(
    _ change: (inout CouchDBOptions) -> Void = { _ in },
    look: (CouchDBDatabase) throws -> Void = { _ in }
  ) async throws -> CouchDBReport {
    let store = try store()
    defer { try? store.datastore.close() }
    let follower = try follower(store, change)
    let report = try await follower.pull()
    try look(follower.database)
    return report
  }

  /// The same with the usual options.
  @discardableResult
  func pullAndLook(_ look: (CouchDBDatabase) throws -> Void) async throws -> CouchDBReport {
    try await pull(look: look)
  }

  /// A real server keeps nothing of ours.
  func end() async {
    if memory == nil { _ = try? await drop() }
  }
}

extension CouchDBOptions {
  /// Calls it before each request is sent, whichever server it goes to.
  mutating func beforeRequests(_ body: @escaping @Sendable () -> Void) {
    server.isMetered = {
      body()
      return false
    }
  }
}

extension CouchDBDatabase {
  /// The ids of the documents that are here, sorted.
  func ids() throws -> [String] { try documents().map { try $0.id }.sorted() }
}
