internal import CairnDisk

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Files as a released version wrote them. Later versions must read them for ever, and this one
/// must write the same bytes.
package enum GoldenFile {
  private static func name(_ file: String) -> String { "Tests/CairnLogTests/Golden/v1/\(file)" }

  /// The bytes of a golden file. `written` is what the code writes now: it becomes the file if
  /// CAIRN_WRITE_GOLDEN is set, which only makes sense for a file that is new.
  package static func bytes(_ file: String, written: [UInt8]) throws -> [UInt8] {
    if unsafe getenv("CAIRN_WRITE_GOLDEN") != nil { try write(file, written) }
    return try ProjectFile.bytes(name(file))
  }

  private static func write(_ file: String, _ bytes: [UInt8]) throws {
    let path = ProjectFile.path(name(file))
    if try PosixDisk().info(path) != nil { return }
    try PosixDisk().createDirectory(ProjectFile.path("Tests/CairnLogTests/Golden/v1"))
    let handle = try PosixDisk().open(path, .create)
    defer { handle.close() }
    try handle.write(bytes.span, at: 0)
  }
}
