import CairnBytes
import CairnFuzzStore

extension FileKind {
  /// The bytes with every checksum made right, so that what a checksum would have caught gets
  /// behind it. What is too short stays as it is.
  package func repaired(_ bytes: [UInt8]) -> [UInt8] {
    var copy = bytes
    switch self {
    case .current: Checksums.sum(&copy, to: 88)
    case .segment: SegmentRepair.run(&copy)
    case .snapshot: SnapshotRepair.run(&copy)
    case .published:
      Checksums.sum(&copy, to: 104)
      Checksums.sum128(&copy)
    case .head, .catalogue: Checksums.sum128(&copy)
    case .publication:
      if copy.count > 64 + 16 {
        copy.set(UInt32(copy.count - 64), at: 48)
        var head = Array(copy[56..<(copy.count - 8)])
        Checksums.sum128(&head)
        copy.replaceSubrange(56..<(copy.count - 8), with: head)
      }
      Checksums.sum(&copy, to: copy.count - 8)
    case .installation: FileKind.repairInstallation(&copy)
    case .info, .accounts, .credentials, .migration, .chains, .role, .deleted,
      .held:
      Checksums.sum(&copy, to: copy.count - 8)
    case .identity: break
    }
    return copy
  }

  /// The catalogues inside, as far as their lengths lead to them, then the file.
  private static func repairInstallation(_ bytes: inout [UInt8]) {
    guard bytes.count > 64 else { return }
    var reader = ByteReader(bytes, 48..<(bytes.count - 8))
    var parts: [Range<Int>] = []
    if let own = try? reader.blob() {
      parts.append(own)
      let count = (try? reader.count(minimumSize: 2)) ?? 0
      for _ in 0..<count {
        guard (try? reader.blob()) != nil, let file = try? reader.blob() else { break }
        parts.append(file)
      }
    }
    for range in parts {
      var part = Array(bytes[range])
      Checksums.sum128(&part)
      bytes.replaceSubrange(range, with: part)
    }
    Checksums.sum(&bytes, to: bytes.count - 8)
  }
}
