import CairnLog
import TestSupport

@testable import Cairn

/// What sync engines, and people, do to files of the folder behind everybody's back.
extension FaultWorld {
  static let directory = "p-" + id
  static let blobDirectory = FileName.blobDirectory(directory)

  /// A file as it is now. A server may remember the length of one that was replaced just before,
  /// and break off.
  func bytes(_ path: String) async throws -> [UInt8]? {
    for _ in 0..<20 {
      do throws(CairnError) { return try await folder.read(path, limit: 1 << 24) } catch {
        guard error.code == .network else { throw error }
      }
      try await Task.sleep(for: .milliseconds(200))
    }
    return try await folder.read(path, limit: 1 << 24)
  }

  /// The path and bytes of some file that is ours; nil if there is none.
  private func victim(
    in directory: String = directory
  ) async throws -> (path: String, bytes: [UInt8])? {
    let names = try await folder.list(directory).map(\.name).filter {
      !FileName.isTemporary($0) && strangers[directory + "/" + $0] == nil
    }
    guard !names.isEmpty else { return nil }
    let path = directory + "/" + names[random.below(names.count)]
    guard let bytes = try await bytes(path), !bytes.isEmpty else {
      return nil
    }
    return (path, bytes)
  }

  mutating func spoil(_ mishap: Mishap) async throws -> Bool {
    // Contents of attachments, too, where their size tells.
    let isContent = [.vanished, .halved, .emptied].contains(mishap) && random.below(3) == 0
    let directory = isContent ? FaultWorld.blobDirectory : FaultWorld.directory
    guard var (path, bytes) = try await victim(in: directory) else { return false }
    switch mishap {
    case .vanished:
      gone[path] = bytes
      try await folder.remove(path)
      return true
    case .halved: bytes.removeLast((bytes.count + 1) / 2)
    case .emptied: bytes = []
    case .zeroed: bytes = [UInt8](repeating: 0, count: bytes.count)
    default: bytes[random.below(bytes.count)] ^= 0x40
    }
    _ = try await folder.write(path, bytes)
    return true
  }

  /// What somebody has removed, or its owner when there was something better, is there again.
  mutating func bringBack() async throws -> Bool {
    var present: Set<String> = []
    for directory in [FaultWorld.directory, FaultWorld.blobDirectory] {
      for entry in try await folder.list(directory) { present.insert(directory + "/" + entry.name) }
    }
    var candidates = gone.map { (path: $0.key, bytes: $0.value) }.sorted { $0.path < $1.path }
    candidates += proxy.memory.written(".seg").map {
      (path: FaultWorld.directory + "/" + $0.name, bytes: $0.bytes)
    }
    candidates.removeAll { present.contains($0.path) }
    guard !candidates.isEmpty else { return false }
    let (path, bytes) = candidates[random.below(candidates.count)]
    gone[path] = nil
    _ = try await folder.write(path, bytes)
    return true
  }

  /// How sync engines name a copy, from the name and its suffix.
  private static let schemes: [@Sendable (String, String) -> String] = [
    { "\($0) (ann's conflicted copy 2026-03-02)\($1)" },
    { "\($0) (Case Conflict)\($1)" },
    { "\($0).sync-conflict-20260302-101112-ABCDEFG\($1)" },
    { "\($0) 2\($1)" },
    { "\($0)-annslaptop\($1)" },
    { "\($0) (1)\($1)" },
    { "\($0)_conflict-20260302-101112\($1)" },
    { "Copy of \($0)\($1)" },
    { ".~\($0)\($1)" },
  ]

  mutating func copyFile(_ mishap: Mishap) async throws -> Bool {
    guard var (path, bytes) = try await victim() else { return false }
    if mishap == .conflicted {
      // What another device had there: an older head, half of a file, a file of somebody else.
      let old = proxy.memory.written(String(path.suffix(5)))
      switch random.below(3) {
      case 0 where !old.isEmpty: bytes = old[random.below(old.count)].bytes
      case 1: bytes.removeLast(bytes.count / 2)
      default: bytes = try await victim()?.bytes ?? bytes
      }
    }
    let name = path.dropFirst(FaultWorld.directory.count + 1)
    let dot = name.lastIndex(of: ".") ?? name.endIndex
    let names = FaultWorld.schemes.map { $0(String(name[..<dot]), String(name[dot...])) }
    try await addStranger(names, bytes)
    return true
  }

  mutating func addForeign() async throws -> Bool {
    let names = [".DS_Store", "desktop.ini", "Thumbs.db", ".stignore", "~lock.x#", "a b.txt"]
    try await addStranger(names, random.bytes(random.below(300)))
    return true
  }

  /// A file under one of these names.
  private mutating func addStranger(_ names: [String], _ bytes: [UInt8]) async throws {
    let names = names.filter(keeps)
    let path = FaultWorld.directory + "/" + names[random.below(names.count)]
    _ = try await folder.write(path, bytes)
    strangers[path] = bytes
  }
}
