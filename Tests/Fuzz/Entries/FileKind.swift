import Cairn
import CairnBytes
import CairnFuzzStore
import CairnLog
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
    case .snapshot: return try SnapshotReading.hash(bytes, path, datastore: datastore)
    case .published: return try published(bytes, path, datastore ?? HeaderOwner.of(bytes))
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
