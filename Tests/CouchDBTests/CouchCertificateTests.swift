import Cairn
import CairnCouchDB
import Foundation
import TestSupport
import Testing

/// Certificates are always verified. The server that `Tools/servers` starts speaks TLS and is none
/// of CouchDB: that is found out behind the handshake.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["CAIRN_TEST_TLS"] != nil))
struct CouchCertificateTests {
  static let address = ProcessInfo.processInfo.environment["CAIRN_TEST_TLS"]?
    .replacing("webdav+", with: "")

  @Test func `a server of a database has to be vouched for, under its own name`() async throws {
    let address = try #require(Self.address)
    func code(_ host: String, _ authority: String?) async throws -> CairnError.Code? {
      let place = try TemporaryDirectory()
      let manager = try DatastoreManager(root: place.path("root"))
      let store = CouchDBStore(try manager.openOrCreateDatastore("couch"))
      defer { try? store.datastore.close() }
      let url = address.replacing("localhost", with: host)
      var options = CouchDBOptions()
      (options.server.attempts, options.server.certificateFile) = (1, authority)
      let follower = try CouchDBFollower(store.database("notes", url: url), options: options)
      return await #expect(throws: CairnError.self) { try await follower.pull() }?.code
    }
    #expect(try await code("localhost", nil) == .ssl)
    let authority = ProcessInfo.processInfo.environment["CAIRN_TEST_CA"]
    #expect(try await code("127.0.0.1", authority) == .ssl)
    let trusted = try await code("localhost", authority)
    #expect(trusted != nil && trusted != .ssl)
  }
}
