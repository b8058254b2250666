import CairnDisk
import Synchronization
import TestSupport

@testable import Cairn

/// A directory, and a hook before each request that may fail it or look around.
struct HookedFolder: Folder {
  enum Request: Sendable { case list, read, write, remove }
  typealias Hook = @Sendable (Request, String) throws(CairnError) -> Void

  /// What happens before each request; can be changed at any time.
  final class Switch: Sendable {
    private let hook = Lock<Hook?>(nil)

    func set(_ new: Hook?) { hook.withLock { $0 = new } }

    /// Requests of these kinds fail from now on.
    func fail(_ kinds: [Request], _ code: CairnError.Code) {
      set { request, path throws(CairnError) in
        if kinds.contains(request) { throw CairnError(code, "\(request) of \(path)", file: path) }
      }
    }

    func run(_ request: Request, _ path: String) throws(CairnError) {
      try hook.withLock { $0 }?(request, path)
    }
  }

  let base: DirectoryFolder
  let hook: Switch

  func forReading() -> any Folder {
    HookedFolder(base: base.forReading() as? DirectoryFolder ?? base, hook: hook)
  }

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    try hook.run(.list, directory)
    return try await base.list(directory)
  }

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    try hook.run(.read, path)
    return try await base.read(path, limit: limit)
  }

  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    try hook.run(.write, path)
    return try await base.write(path, bytes)
  }

  func remove(_ path: String) async throws(CairnError) {
    try hook.run(.remove, path)
    try await base.remove(path)
  }
}

/// What a test was told, in order.
final class Told<Value: Sendable>: Sendable {
  private let list = Lock<[Value]>([])
  var all: [Value] { list.withLock { $0 } }
  func add(_ value: Value) { list.withLock { $0.append(value) } }
}

/// A value that several tasks and threads change.
final class Shared<Value: Sendable>: Sendable {
  private let lock: Lock<Value>

  init(_ value: Value) { lock = Lock(value) }

  func withLock<R: Sendable>(_ body: (inout Value) -> R) -> R { lock.withLock { body(&$0) } }
}

extension FolderWorkbench {
  /// A device whose requests can be made to fail.
  func open(_ device: String, _ hook: HookedFolder.Switch) throws -> Datastore {
    let path = folder
    return try DatastoreManager(
      root: root(device), account: Account(user: "ann", folder: .directory(path)),
      folder: { HookedFolder(base: DirectoryFolder(path), hook: hook) }, options: options,
      machine: .real
    ).openOrCreateDatastore(id)
  }
}
