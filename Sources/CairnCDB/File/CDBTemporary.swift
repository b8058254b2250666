internal import CairnDisk

/// Names of files that are being written: `name~` and 16 hexadecimal digits, in the same directory.
enum CDBTemporary {
  private static let digits = 16
  /// Whoever needs longer than that to write a file finds it gone, and keeps what it was to hold.
  private static let patience: Int64 = 3_600_000

  static func path(for path: String, _ random: UInt64) -> String {
    let hex = String(random, radix: 16)
    return path + "~" + String(repeating: "0", count: digits - hex.count) + hex
  }

  /// Removes one, as far as that is possible: it is in nobody's way.
  static func discard(_ path: String, on disk: any Disk) {
    // A disk that fails to remove it has failed at more than that, and has said so.
    try? disk.remove(path)
  }

  /// Removes what writers of a file have left that were killed more than an hour ago.
  static func sweep(_ path: String, _ machine: Machine) {
    let directory = FilePath.parent(of: path) ?? "."
    let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.index(after: $0)...] }
    let prefix = (name ?? path[...]) + "~"
    // What can't be listed has nothing that could be removed.
    guard let entries = try? machine.disk.list(directory) else { return }
    let limit = machine.clock.now() - patience
    for entry in entries where entry.info.kind == .file && entry.info.modified < limit {
      guard entry.name.hasPrefix(prefix) else { continue }
      let rest = entry.name.utf8.dropFirst(prefix.utf8.count)
      let isOurs = rest.count == digits && rest.allSatisfy(isHexadecimal)
      if isOurs { discard(directory + "/" + entry.name, on: machine.disk) }
    }
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
  }
}
