internal import CairnDisk

/// Files of the source tree that tests read: pages and golden files.
package enum ProjectFile {
  /// Where the project is, seen from this file.
  private static var root: String {
    let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    return parts.dropLast(3).joined(separator: "/")
  }

  package static func path(_ name: String) -> String { root + "/" + name }

  package static func bytes(_ name: String) throws -> [UInt8] {
    let file = try PosixDisk().open(path(name), .read)
    defer { file.close() }
    return try file.read(at: 0, count: Int(try file.size()))
  }
}
