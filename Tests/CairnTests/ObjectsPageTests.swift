import Cairn
import TestSupport
import Testing

/// The page about objects: its samples, compiled and run.
@Suite struct ObjectsPageTests {
  private let place: TemporaryDirectory

  init() throws { place = try TemporaryDirectory() }

  // A sample of the page begins here.
  struct Chore: TableModel {
    static let table = "chores"

    var title: String
    var minutes = 0
    var isFolded = false  // how this device shows it
  }

  struct SharedChore: TableModel {
    static let table = "shared-chores"

    var name: String
    var hours: Double
  }

  struct Draft: TableModel {
    static let table = "drafts"

    var text: String
  }
  // It ends here.

  struct Note: TableModel {
    static let table = "notes"

    var text: String
  }

  private func store(_ root: String, _ datastore: Datastore) async throws -> ObjectStore {
    // A sample of the page begins here.
    let chores = ObjectMapping(
      Chore.self, as: SharedChore.self,
      map: { chore, _ in
        MappedRecord(SharedChore(name: chore.title, hours: Double(chore.minutes) / 60))
      },
      update: { chore, shared, _ in
        if chore == nil { chore = Chore(title: shared.name) }
        chore?.title = shared.name
        if let minutes = Int(exactly: (shared.hours * 60).rounded()) { chore?.minutes = minutes }
      })

    let objects = try await ObjectStore.open(
      in: DatastoreManager(root: root), remotes: ["main": datastore],
      mappings: [chores, .local(Draft.self)])
    // It ends here.
    return objects
  }

  private func change(_ objects: ObjectStore) async throws -> Chore? {
    // A sample of the page begins here.
    try await objects.write { objects throws(CairnError) in
      try objects.insert(Chore(title: "Dishes", minutes: 30), id: "dishes")
      try objects.insert(Draft(text: "for nobody else"))
    }
    let dishes = try objects.objects(Chore.self).get("dishes")

    try await objects.exchange()
    // It ends here.
    return dishes
  }

  private func look(_ objects: ObjectStore, print: (String) -> Void) async throws {
    // A sample of the page begins here.
    objects.suspend()  // counted: as many resumes as suspensions
    try await objects.write { objects throws(CairnError) in
      try objects.update(Chore.self, "dishes") { $0.minutes = 45 }
    }
    for set in try await objects.pendingChangeSets() {
      for change in set.changes {
        print("\(change.object): \(change.fields), was \(change.originals)")
      }
    }
    objects.resume()
    try await objects.exchange()
    // It ends here.
  }

  private func merging() -> ObjectMapping {
    // A sample of the page begins here.
    let notes = ObjectMapping.synced(Note.self) { merge in
      guard merge.conflicts.contains("text"), case .string(let theirs)? = merge.remote?["text"],
        case .string(let ours)?? = merge.pending["text"]
      else { return }
      merge.keep("text", .string(theirs + "\n" + ours))
    }
    // It ends here.
    return notes
  }

  @Test func `the samples do what they say`() async throws {
    let account = Account(user: "ana", folder: .directory(place.path("folder")))
    let manager = try DatastoreManager(root: place.path("root"), account: account)
    let datastore = try manager.openDefaultDatastore()
    let objects = try await store(place.path("objects"), datastore)
    #expect(try await change(objects)?.minutes == 30)
    let record = try #require(try datastore.table("shared-chores").record("dishes"))
    #expect(try record.fields == ["name": "Dishes", "hours": 0.5])
    var printed: [String] = []
    try await look(objects) { printed.append($0) }
    #expect(printed.count == 1 && printed.first?.hasPrefix("dishes: [\"hours\"") == true)
    #expect(try record.double("hours") == 0.75)
    #expect(merging().recordTable == "notes")
    try await objects.close()
    try datastore.close()
  }

  @Test func `the page shows this very code`() throws {
    let samples = try PageSamples.inTest("ObjectsPageTests.swift")
    #expect(samples.count == 5)
    #expect(try PageSamples.inPage("Objects") == samples)
  }
}
