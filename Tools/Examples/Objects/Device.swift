import Cairn

/// One of the user's devices: its objects, and a datastore in each of two folders.
struct Device: Sendable {
  let name: String
  let objects: ObjectStore
  let datastores: [Datastore]

  init(_ name: String, in place: String) async throws {
    self.name = name
    var remotes: [String: Datastore] = [:]
    for route in ["home", "work"] {
      let account = Account(user: "ana", folder: .directory("\(place)/folder-\(route)"))
      let manager = try DatastoreManager(root: "\(place)/\(name)-\(route)", account: account)
      remotes[route] = try manager.openOrCreateDatastore("chores")
    }
    datastores = Array(remotes.values)
    objects = try await ObjectStore.open(
      in: DatastoreManager(root: "\(place)/\(name)-objects"), remotes: remotes,
      mappings: [Chore.mapping, .local(Draft.self)]
    ) { failure in
      print("the upload to \(failure.route) failed: \(failure.error)")
    }
  }

  func show(_ heading: String) throws {
    print("\(heading), on the \(name):")
    let chores = try objects.objects(Chore.self).objects(Query().sorted(by: "title"))
    for chore in chores.map(\.object) {
      print("  \(chore.title), \(chore.minutes) minutes, \(chore.route)")
    }
  }

  func showQueue() async throws {
    print("\nTo be uploaded by the \(name):")
    for set in try await objects.pendingChangeSets() {
      for change in set.changes {
        let fields = change.fields.keys.sorted().joined(separator: ", ")
        print("  \(set.route): \(change.kind) \(change.object): \(fields)")
      }
    }
  }

  func close() async throws {
    try await objects.close()
    for datastore in datastores { try datastore.close() }
  }
}
