import Cairn
import CairnBytes
package import CairnLog
import CairnMerge
import CairnStore

/// A kind of file that Cairn reads, at home or in a folder, and how all of it is read.
package enum FileKind: String, CaseIterable, Sendable {
  case current, segment, snapshot, published, head, publication, info, installation, accounts
  case credentials, migration, catalogue, identity
  case chains, role, deleted, held

  /// Those that have no target of their own; a byte of the target `files` counts them.
  package static let small = allCases.filter { $0 != .segment && $0 != .snapshot }

  /// Reads everything in a file of this kind. Returns a hash of all that it says, so that two
  /// readings can be compared; throws a typed error with the path if anything is wrong.
  ///
  /// `datastore` is whose file it has to be; nil takes the file's own word for it.
  package func read(_ bytes: [UInt8], _ path: String, datastore: UInt128? = nil) throws -> UInt64 {
    switch self {
    case .current: return XXH3.hash64(try CurrentFile(bytes, path: path).encoded())
    case .segment: return try SegmentReading(SegmentScan(bytes, path: path), path: path).hash
    case .snapshot: return try snapshot(bytes, path, datastore ?? FileKind.owner(bytes))
    case .published: return try published(bytes, path, datastore ?? FileKind.owner(bytes))
    case .head:
      return XXH3.hash64(try Head(bytes, name: path, datastore: datastore).encoded())
    case .publication:
      let file = try PublicationFile(bytes, path: path)
      if !file.head.isEmpty { _ = try Head(file.head, name: path, datastore: datastore) }
      return XXH3.hash64(file.encoded())
    case .info: return XXH3.hash64(try InfoFile(bytes, path: path).encoded())
    case .installation: return XXH3.hash64(try InstallationFile(bytes, path: path).encoded())
    case .accounts: return XXH3.hash64(try AccountsFile(bytes, path: path).encoded())
    case .credentials:
      return XXH3.hash64(CredentialsFile.encode(try CredentialsFile.decode(bytes, path: path)))
    case .migration: return XXH3.hash64(try MigrationJournal(bytes, path: path).encoded())
    case .catalogue: return XXH3.hash64(try CatalogueFile(bytes, name: path).encoded())
    case .identity:
      return XXH3.hash64(FolderIdentity.encode(try FolderIdentity.decode(bytes, path: path)))
    case .chains: return XXH3.hash64(try Histories(bytes, path: path).encoded())
    case .role: return XXH3.hash64(RoleNote.encode(try RoleNote.decode(bytes, path: path)))
    case .deleted: return XXH3.hash64(try DeletedFile(bytes, path: path).encoded())
    case .held: return XXH3.hash64(try HeldFile(bytes, path: path).encoded())
    }
  }

  /// The datastore that a file with a header says it belongs to.
  static func owner(_ bytes: [UInt8]) -> UInt128 {
    guard bytes.count >= 32 else { return 0 }
    return UInt128(bytes.u64(at: 24)) << 64 | UInt128(bytes.u64(at: 16))
  }

  private func snapshot(
    _ bytes: [UInt8], _ path: String, _ datastore: UInt128
  ) throws -> UInt64 {
    let disk = OneFileDisk(bytes)
    let found = try SnapshotCheck.run(path, datastore: datastore, disk: disk) { _, _ in }
    let reader = try SnapshotReader(path, disk: disk)
    var hash = XXH3.hash64(reader.description, seed: UInt64(found.rows))
    for number in 0..<reader.blockCount { hash = XXH3.hash64(try reader.block(number), seed: hash) }
    return hash
  }

  private func published(
    _ bytes: [UInt8], _ path: String, _ datastore: UInt128
  ) throws -> UInt64 {
    let file = try PublishedSegment(bytes, name: path, datastore: datastore)
    var pack = try PackReader(file.pack)
    guard pack.header.device.rawValue == file.device, pack.header.first == file.first,
      pack.header.last == file.last
    else { throw DecodeError.malformed("the pack inside has another range") }
    var delta = Delta()
    while try pack.next(into: &delta) {}
    return XXH3.hash64(file.encoded().bytes)
  }
}

/// What the frames of a segment say, each decoded to its last byte.
package struct SegmentReading {
  /// A hash for each frame, in order.
  package private(set) var frames: [UInt64] = []
  package let ending: SegmentScan.Ending

  package init(_ scan: SegmentScan, path: String) throws {
    ending = scan.ending
    var decoder = DeltaDecoder()
    var delta = Delta()
    for frame in scan.frames {
      let payload = try frame.payload(scan.bytes)
      switch FrameKind(rawValue: frame.kind) {
      case .delta:
        var reader = ByteReader(payload)
        let dot = Dot(device: DeviceID(rawValue: frame.device), sequence: frame.sequence)
        try decoder.decode(&reader, dot: dot, into: &delta)
      case .pack: try SegmentReading.packs(payload)
      case .seal, nil: throw DecodeError.newer("a frame of an unknown kind")
      }
      frames.append(
        XXH3.hash64(payload, seed: UInt64(frame.kind) ^ frame.device ^ frame.sequence << 8))
    }
  }

  private static func packs(_ payload: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(payload)
    var delta = Delta()
    for _ in 0..<(try reader.count(minimumSize: 8)) {
      let last = try reader.varint()
      var pack = try PackReader(payload, try reader.blob())
      while pack.nextSequence <= last, try pack.next(into: &delta) {}
    }
  }

  package var hash: UInt64 {
    var all: [UInt8] = []
    for frame in frames { all.put(frame) }
    switch ending {
    case .clean: all.put(UInt8(0))
    case .sealed: all.put(UInt8(1))
    case .torn(let bytes): all.put(UInt64(bytes))
    case .corrupt(let end): all.put(UInt64(end))
    }
    return XXH3.hash64(all)
  }
}
