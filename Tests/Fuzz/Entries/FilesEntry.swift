import CairnFuzzBytes

/// `kind u8 · bytes`: one of the small files, as it is and with good checksums.
enum FilesEntry {
  static let kinds = FileKind.small

  static func run(_ bytes: [UInt8]) throws {
    guard let first = bytes.first else { return }
    let kind = kinds[Int(first) % kinds.count]
    let file = Array(bytes.dropFirst())
    _ = try? kind.read(file, "raw")
    let repaired = kind.repaired(file)
    guard let hash = try? kind.read(repaired, "repaired") else { return }
    try FuzzFinding.check(
      (try? kind.read(repaired, "repaired")) == hash, "a \(kind) file reads in two ways")
  }
}
