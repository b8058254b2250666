import CairnDisk
import TestSupport
import Testing

@testable import Cairn

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension FolderWorkbench {
  /// A follower of the datastore, in a root of its own.
  func follow(
    _ device: String = "follower", _ policy: FollowPolicy = FollowPolicy(),
    folder other: String? = nil
  ) async throws -> DatastoreFollower {
    try await DatastoreFollower.subscribe(
      to: id, in: .directory(other ?? folder), root: root(device), policy: policy,
      options: options)
  }

  /// One whose requests can be looked at, and made to fail.
  func follow(
    _ device: String, _ policy: FollowPolicy = FollowPolicy(), _ hook: HookedFolder.Switch
  ) async throws -> DatastoreFollower {
    let path = folder
    return try await DatastoreFollower.subscribe(
      to: id, in: .directory(path), root: root(device), policy: policy, options: options,
      opener: { HookedFolder(base: DirectoryFolder(path), hook: hook) }, machine: .real)
  }

  /// Why following can't begin; nil if it can.
  func followError(
    _ device: String = "follower", id other: String? = nil, folder place: String? = nil
  ) async -> CairnError? {
    do throws(CairnError) {
      let follower = try await DatastoreFollower.subscribe(
        to: other ?? id, in: .directory(place ?? folder), root: root(device), options: options)
      try follower.close()
      return nil
    } catch { return error }
  }

  /// A file was last written so long ago.
  func age(_ path: String, days: Int) throws {
    var then = utimbuf()
    then.modtime = time(nil) - days * 86_400
    then.actime = then.modtime
    #expect(unsafe utime(path, &then) == 0)
  }

  /// Everything below a directory, with what tells whether it was touched.
  func tree(_ directory: String) throws -> [String: String] {
    var result: [String: String] = [:]
    let disk = PosixDisk()
    for entry in try disk.list(directory) {
      let path = directory + "/" + entry.name
      result[path] = "\(entry.info.size) \(entry.info.modified) \(entry.info.inode)"
      if entry.info.kind == .directory {
        result.merge(try tree(path)) { first, _ in first }
      }
    }
    return result
  }
}

extension DatastoreFollower {
  /// Why a pull fails; nil if it does not.
  func pullError() async -> CairnError? {
    do throws(CairnError) {
      try await pull()
      return nil
    } catch { return error }
  }
}

extension Datastore {
  /// Inserts and commits a record of a table.
  func add(_ id: String, to name: String, _ fields: [String: Value] = ["n": 1]) throws {
    try table(name).insert(fields: fields, id: RecordID(id))
    try sync()
  }
}

/// What a content has of tables.
func chosen(
  _ content: [String: [String: Value]], _ keeps: (String) -> Bool
) -> [String: [String: Value]] {
  content.filter { keeps(String($0.key.split(separator: "/").first ?? "")) }
}

/// A disk on which nothing can be written: as a medium that is mounted read-only.
struct ReadOnlyDisk: Disk {
  let base = PosixDisk()

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    guard mode == .read else { throw refusal(path) }
    return try base.open(path, mode)
  }

  func list(_ directory: String) throws(DiskError) -> [DirectoryEntry] {
    try base.list(directory)
  }

  func info(_ path: String) throws(DiskError) -> FileInfo? { try base.info(path) }
  func createDirectory(_ path: String) throws(DiskError) { throw refusal(path) }
  func createPrivateDirectory(_ path: String) throws(DiskError) { throw refusal(path) }
  func rename(_ from: String, to: String) throws(DiskError) { throw refusal(from) }
  func remove(_ path: String) throws(DiskError) { throw refusal(path) }
  func removeTree(_ path: String) throws(DiskError) { throw refusal(path) }
  func syncDirectory(_ path: String) throws(DiskError) { throw refusal(path) }
  func lock(_ path: String) throws(DiskError) -> any DiskLock { throw refusal(path) }

  private func refusal(_ path: String) -> DiskError {
    DiskError(reason: .readOnly, operation: "write", path: path)
  }
}
