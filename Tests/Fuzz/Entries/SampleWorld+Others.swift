import Cairn
import CairnDisk
import CairnLog
import TestSupport

/// Datastores that have what few have: records in the trash, a role, an outbox.
extension SampleWorld {
  /// One in which another device deletes records, one with roles, and one that was restored from a
  /// backup and has not published yet what it has done since.
  func makeOthers() async throws {
    let a = SampleWorld.manager(disk, "/a", seed: seed + 15)
    let b = SampleWorld.manager(disk, "/b", seed: seed + 16)
    try await commit(a, "gone", ["g0", "g1", "g2", "g3"])
    try await exchange(b, "gone")
    try delete(["g1", "g2"], from: b)
    try await exchange(b, "gone")
    try await exchange(a, "gone")
    let shared = try a.createDatastore()
    try shared.setRole(.editor, for: .user("bob"))
    _ = try shared.sync()
    _ = try await shared.exchange()
    try shared.close()
    try await makeOutbox(a)
    for manager in [a, b] {
      try await manager.refresh()
      try manager.shutDown()
    }
    try makeHeld()
  }

  /// Snapshots that an earlier process has held back. None of them is there any more.
  private func makeHeld() throws {
    let directory = "/a/" + FileName.directory(datastore: "notes") + "/" + FileName.inbox
    if try disk.info(directory) == nil { try disk.createDirectory(directory) }
    let random = SeededRandom(seed + 17)
    let contents = (0..<3).map { _ in
      UInt128(random.next()) << 64 | UInt128(random.next())
    }
    try disk.setBytes(directory + "/" + FileName.held, HeldFile(Set(contents)).encoded())
  }

  private func delete(_ ids: [String], from manager: DatastoreManager) throws {
    let datastore = try manager.openDatastore("gone")
    for id in ids { try datastore.table("t")[RecordID(id)].delete() }
    _ = try datastore.sync()
    try datastore.close()
  }

  /// The files of a datastore as they were before it published more; the next rounds find out and
  /// give it another name, under which it has something that nobody else has.
  private func makeOutbox(_ manager: DatastoreManager) async throws {
    let directory = "/a/" + FileName.directory(datastore: "twin")
    try await commit(manager, "twin", ["t0", "t1"])
    let backup = disk.paths().filter { $0.hasPrefix(directory + "/") }.map {
      (path: $0, bytes: disk.bytes($0) ?? [])
    }
    try await commit(manager, "twin", ["t2"])
    try disk.removeTree(directory)
    for file in backup { try disk.setBytes(file.path, file.bytes) }
    let twin = try manager.openDatastore("twin")
    try add("t3", twin)
    for _ in 0..<2 {
      _ = try await twin.exchange()
      if try twin.sync().newDevice != nil { break }
    }
    try twin.close()
  }

  /// Ids of the datastores that are made here, the one with roles not among them.
  package static let others = ["gone", "twin"]
}
