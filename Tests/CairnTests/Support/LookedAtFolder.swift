import CairnDisk
import TestSupport

@testable import Cairn

/// A directory of which it is noted how a datastore's is looked at: as a whole, or briefly.
struct LookedAtFolder: BriefFolder {
  enum Look: Sendable { case whole, brief }

  let base: DirectoryFolder
  let looks: Told<Look>

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    if directory.hasPrefix("p-") { looks.add(.whole) }
    return try await base.list(directory)
  }

  func listBriefly(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    if directory.hasPrefix("p-") { looks.add(.brief) }
    return try await base.listBriefly(directory)
  }

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    try await base.read(path, limit: limit)
  }

  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    try await base.write(path, bytes)
  }

  func remove(_ path: String) async throws(CairnError) { try await base.remove(path) }
}

extension FolderWorkbench {
  /// A device of which it is noted how it looks at the folder.
  func open(_ device: String, _ looks: Told<LookedAtFolder.Look>) throws -> Datastore {
    let path = folder
    return try DatastoreManager(
      root: root(device), account: Account(user: "ann", folder: .directory(path)),
      folder: { LookedAtFolder(base: DirectoryFolder(path), looks: looks) }, options: options,
      machine: .real
    ).openOrCreateDatastore(id)
  }
}

/// The system's disk, on which it is counted how many files listings look at.
struct LookingDisk: Disk {
  private let base = PosixDisk()
  let lookedAt: Shared<Int>

  func list(_ directory: String) throws(DiskError) -> [DirectoryEntry] {
    let entries = try base.list(directory)
    lookedAt.withLock { $0 += entries.count }
    return entries
  }

  func list(
    _ directory: String, after last: DirectoryListing?
  ) throws(DiskError) -> DirectoryListing {
    let listing = try base.list(directory, after: last)
    lookedAt.withLock { $0 += listing.entries.count }
    return listing
  }

  func isUnchanged(
    _ directory: String, since last: DirectoryListing, at places: [Int]
  ) throws(DiskError) -> Bool {
    lookedAt.withLock { $0 += places.count }
    return try base.isUnchanged(directory, since: last, at: places)
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    try base.open(path, mode)
  }

  func info(_ path: String) throws(DiskError) -> FileInfo? { try base.info(path) }
  func createDirectory(_ path: String) throws(DiskError) { try base.createDirectory(path) }
  func createPrivateDirectory(_ path: String) throws(DiskError) {
    try base.createPrivateDirectory(path)
  }

  func rename(_ from: String, to: String) throws(DiskError) { try base.rename(from, to: to) }
  func remove(_ path: String) throws(DiskError) { try base.remove(path) }
  func removeTree(_ path: String) throws(DiskError) { try base.removeTree(path) }
  func syncDirectory(_ path: String) throws(DiskError) { try base.syncDirectory(path) }
  func lock(_ path: String) throws(DiskError) -> any DiskLock { try base.lock(path) }
}
