import CairnDisk
import Synchronization
import TestSupport

@testable import Cairn

/// A directory as far away as a server.
struct FarFolder: Folder {
  /// Requests wait at it until their task is cancelled, or it is opened.
  final class Gate: Sendable {
    private let state = Lock((shut: Set<String>(), waiting: 0))
    var waiting: Int { state.withLock { $0.waiting } }

    /// For paths that end like this; without an ending, for all of them.
    func shut(_ ending: String = "") { state.withLock { _ = $0.shut.insert(ending) } }
    func open(_ ending: String = "") { state.withLock { _ = $0.shut.remove(ending) } }

    private func isShut(_ path: String) -> Bool {
      state.withLock { $0.shut.contains { path.hasSuffix($0) } }
    }

    fileprivate func pass(_ path: String) async throws(CairnError) {
      guard isShut(path) else { return }
      state.withLock { $0.waiting += 1 }
      defer { state.withLock { $0.waiting -= 1 } }
      while isShut(path) {
        do { try await Task.sleep(for: .milliseconds(1)) } catch {
          throw CairnError(.cancelled, "it was cancelled")
        }
      }
    }
  }

  let base: DirectoryFolder
  let gate: Gate

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    try await gate.pass(directory)
    return try await base.list(directory)
  }
  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    try await gate.pass(path)
    return try await base.read(path, limit: limit)
  }
  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    try await gate.pass(path)
    return try await base.write(path, bytes)
  }
  func remove(_ path: String) async throws(CairnError) {
    try await gate.pass(path)
    try await base.remove(path)
  }
}

extension FolderWorkbench {
  /// A device that is as far away.
  func open(_ device: String, _ gate: FarFolder.Gate) throws -> Datastore {
    let path = folder
    return try DatastoreManager(
      root: root(device), account: Account(user: "ann", folder: .directory(path)),
      folder: { FarFolder(base: DirectoryFolder(path), gate: gate) }, options: options,
      machine: .real
    ).openOrCreateDatastore(id)
  }
}
