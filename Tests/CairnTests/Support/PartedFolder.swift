import CairnDisk

@testable import Cairn

/// A directory that gives files in parts, and says before each where it begins.
struct PartedFolder: Folder {
  let base: DirectoryFolder
  let size: UInt64
  let tell: @Sendable (UInt64) throws(CairnError) -> Void

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    try await base.list(directory)
  }

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    try await base.read(path, limit: limit)
  }

  func read(
    _ path: String, from offset: UInt64, _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool {
    guard let bytes = try await base.read(path, limit: .max) else { return false }
    var place = offset
    while place < UInt64(bytes.count) {
      try tell(place)
      let end = min(UInt64(bytes.count), place + size)
      try body([UInt8](bytes[Int(place)..<Int(end)]))
      place = end
    }
    return true
  }

  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    try await base.write(path, bytes)
  }

  func remove(_ path: String) async throws(CairnError) { try await base.remove(path) }
}
