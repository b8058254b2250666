import Cairn
import CairnCouchDB
import Foundation

/// Follows a database of CouchDB: the example of the documentation. Its address is the argument.
@main
struct FollowExample {
  static func main() async throws {
    guard let url = CommandLine.arguments.dropFirst().first else {
      print("usage: FollowExample https://host:6984/database")
      return
    }
    let place = FileManager.default.temporaryDirectory.path + "/cairn-follow-\(UUID().uuidString)"
    defer {
      // The system empties its temporary directory by itself, too.
      try? FileManager.default.removeItem(atPath: place)
    }
    let manager = try DatastoreManager(root: place)
    let datastore = try manager.openOrCreateDatastore("followed")
    try await pull(datastore, url)
    try await choose(datastore, url)
    try datastore.close()
  }

  static func pull(_ datastore: Datastore, _ url: String) async throws {
    let store = CouchDBStore(datastore, typeField: "type", parentField: "parent_id")
    let notes = try store.database("notes", url: url)
    let follower = try CouchDBFollower(notes)

    let report = try await follower.pull()
    print("\(report.documents) documents, \(report.attachments) attachments")

    for document in try notes.documents(ofType: "note") {
      print(try document.id, try document.record.string("title") ?? "")
      for attachment in try document.attachments() {
        print("  \(try attachment.name): \(try attachment.content()?.count ?? 0) bytes")
      }
    }
  }

  static func choose(_ datastore: Datastore, _ url: String) async throws {
    let store = CouchDBStore(datastore)
    let small = try store.database("small", url: url)

    var options = CouchDBOptions()
    options.policy = CouchDBPolicy(
      document: { change in change.id.hasPrefix("draft-") ? .leave : .fetch(.normal) },
      attachment: { (stale) throws(CairnError) in
        try stale.length > 1 << 20 ? .leave : .fetch(.low)
      })
    let follower = try CouchDBFollower(small, options: options)
    let report = try await follower.pull()
    print("\(report.left) left; stale: \(try small.statistics().staleAttachments)")

    if let document = try small.document("walk") { print(try document.json) }
    try small.purge()
  }
}
