import Cairn
import Testing
import TestSupport

/// Two devices and a plain directory between them.
struct TwoDevices {
  let place: TemporaryDirectory
  let a: Datastore
  let b: Datastore

  init(_ id: String = "notes", options: Options = Options()) throws {
    place = try TemporaryDirectory()
    let folder = FolderLocation.directory(place.path + "/folder")
    a = try DatastoreManager(
      root: place.path + "/a", account: Account(user: "ann", folder: folder), options: options
    ).openOrCreateDatastore(id)
    b = try DatastoreManager(
      root: place.path + "/b", account: Account(user: "ann", folder: folder), options: options
    ).openOrCreateDatastore(id)
  }

  private init(_ place: TemporaryDirectory, _ a: Datastore, _ b: Datastore) {
    (self.place, self.a, self.b) = (place, a, b)
  }

  /// Both closed and opened again.
  func reopened() throws -> TwoDevices {
    try a.close()
    try b.close()
    return TwoDevices(
      place, try a.manager.openDatastore(a.id), try b.manager.openDatastore(b.id))
  }

  /// Commits and exchanges until nothing moves any more.
  func meet() async throws {
    for _ in 0..<3 {
      for device in [a, b] {
        try device.sync()
        try await device.exchange()
        try device.sync()
      }
    }
  }
}

func content(_ datastore: Datastore) throws -> [String: [String: Value]] {
  var result: [String: [String: Value]] = [:]
  for table in try datastore.tables() {
    for record in try table.query() {
      result["\(table.id)/\(record.id)"] = try record.fields
    }
  }
  return result
}
