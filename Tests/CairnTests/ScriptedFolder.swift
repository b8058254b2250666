import CairnDisk
import Synchronization
import TestSupport

@testable import Cairn

/// A folder between which and the device somebody stands who does as a test says.
struct ScriptedFolder: Folder {
  /// What becomes of an upload.
  enum Upload: Sendable {
    case whole
    /// So many bytes arrive, and the folder says so.
    case part(Int)
    /// So many bytes arrive, and no answer comes.
    case partUnanswered(Int)
    /// All of it arrives, and no answer comes.
    case unanswered
    /// Nothing arrives.
    case lost
  }

  typealias Listing = @Sendable (String, [FolderEntry]) -> [FolderEntry]
  typealias Reading = @Sendable (String, [UInt8]?) -> [UInt8]?
  typealias Writing = @Sendable (String, [UInt8]) -> Upload

  /// What to do; can be changed at any time.
  final class Script: Sendable {
    private struct State {
      var listing: Listing?
      var reading: Reading?
      var writing: Writing?
      var reads: [String] = []
    }
    private let state = Lock(State())

    /// The paths that were read, in order.
    var reads: [String] { state.withLock { $0.reads } }

    func list(_ new: Listing?) { state.withLock { $0.listing = new } }
    func read(_ new: Reading?) { state.withLock { $0.reading = new } }
    func write(_ new: Writing?) { state.withLock { $0.writing = new } }

    /// Files whose names end like this are listed as ones that have yet to come.
    func showPlaceholders(for ending: String) {
      list { _, entries in
        entries.map { entry in
          var entry = entry
          if entry.name.hasSuffix(ending) { entry.isPresent = false }
          return entry
        }
      }
    }

    /// Files whose paths end like this are listed, and gone when they are read.
    func hide(_ ending: String) { read { path, bytes in path.hasSuffix(ending) ? nil : bytes } }

    fileprivate func listed(_ path: String, _ entries: [FolderEntry]) -> [FolderEntry] {
      state.withLock { $0.listing }?(path, entries) ?? entries
    }

    fileprivate func wasRead(_ path: String, _ bytes: [UInt8]?) -> [UInt8]? {
      let reading = state.withLock { state in
        state.reads.append(path)
        return state.reading
      }
      guard let reading else { return bytes }
      return reading(path, bytes)
    }

    fileprivate func fate(_ path: String, _ bytes: [UInt8]) -> Upload {
      state.withLock { $0.writing }?(path, bytes) ?? .whole
    }
  }

  let base: DirectoryFolder
  let script: Script

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    script.listed(directory, try await base.list(directory))
  }

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    script.wasRead(path, try await base.read(path, limit: limit))
  }

  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    let silence = CairnError(.timeout, "no answer to the upload of \(path)", file: path)
    switch script.fate(path, bytes) {
    case .whole: return try await base.write(path, bytes)
    case .part(let count): return try await base.write(path, [UInt8](bytes.prefix(count)))
    case .partUnanswered(let count):
      _ = try await base.write(path, [UInt8](bytes.prefix(count)))
      throw silence
    case .unanswered:
      _ = try await base.write(path, bytes)
      throw silence
    case .lost: throw silence
    }
  }

  func remove(_ path: String) async throws(CairnError) { try await base.remove(path) }
}

extension FolderWorkbench {
  /// A device that sees the folder as a script shows it.
  func manager(_ device: String, _ script: ScriptedFolder.Script) -> DatastoreManager {
    let path = folder
    return DatastoreManager(
      root: root(device), account: Account(user: "ann", folder: .directory(path)),
      folder: { ScriptedFolder(base: DirectoryFolder(path), script: script) }, options: options,
      machine: .real)
  }

  func open(_ device: String, _ script: ScriptedFolder.Script) throws -> Datastore {
    try manager(device, script).openOrCreateDatastore(id)
  }
}
