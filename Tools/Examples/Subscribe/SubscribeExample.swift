import Cairn
import Foundation

/// An office publishes a programme; a visitor's phone follows it, and never writes to the folder.
/// The example of the documentation.
@main
struct SubscribeExample {
  let office: Datastore
  let folder: FolderLocation
  let place: String

  static func main() async throws {
    let place = FileManager.default.temporaryDirectory.path + "/cairn-follow-\(UUID().uuidString)"
    defer {
      // The system empties its temporary directory by itself, too.
      try? FileManager.default.removeItem(atPath: place)
    }
    let example = try SubscribeExample(in: place)
    try await example.publish()
    try await example.subscribe()
    try await example.choose()
    try example.office.close()
  }

  init(in place: String) throws {
    self.place = place
    folder = .directory(place + "/shared")
    let account = Account(user: "office", folder: folder)
    office = try DatastoreManager(root: place + "/office", account: account)
      .openOrCreateDatastore("programme")
  }

  private func publish() async throws {
    let events = try office.table("events")
    let concert = try events.insert(["title": "Concert", "day": 3], id: "concert")
    try concert.attach("poster", Array(repeating: 7, count: 2_000))
    try concert.attach("recording", Array(repeating: 8, count: 90_000))
    try events.insert(["title": "Walk", "day": 4], id: "walk")
    try office.table("staff").insert(["name": "Ana"], id: "ana")
    try office.sync()
    try await office.exchange()
  }

  private func subscribe() async throws {
    let follower = try await DatastoreFollower.subscribe(
      to: "programme", in: folder, root: place + "/phone")
    let report = try await follower.pull()
    print("\(report.fetchedDeltas) deltas, \(report.fetchedAttachments) attachments")

    for event in try follower.datastore.table("events").query().sorted(by: { $0.id < $1.id }) {
      print(event.id, try event.string("title") ?? "")
    }

    do throws(CairnError) { try follower.datastore.table("events")["walk"].delete() } catch {
      print(error.code)
    }

    let following = Task {
      try await follower.follow { result in
        if case .failure(let error) = result { print(error.message) }
      }
    }

    let changes = follower.datastore.changes
    try office.table("events")["walk"].set("day", 5)
    try office.sync()
    try await office.exchange()
    for await change in changes where change.affects("events") { break }
    follower.abort()
    try await following.value
    print("the walk is on day", try follower.datastore.table("events")["walk"].int("day") ?? 0)
    try follower.close()
  }

  private func choose() async throws {
    let policy = FollowPolicy(
      tables: .except(["staff"]),
      attachments: AttachmentPolicy { use in
        use.field == "poster" ? .always(priority: 1) : .onDemand
      })
    let follower = try await DatastoreFollower.subscribe(
      to: "programme", in: folder, root: place + "/phone", policy: policy)
    try await follower.pull()
    print(try follower.datastore.tables().map(\.id))

    try follower.unsubscribe()
  }
}
