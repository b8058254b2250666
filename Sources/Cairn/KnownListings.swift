internal import CairnDisk
internal import Synchronization

/// The last listings of a folder's directories: nearly all that a poll costs is to take apart what
/// it has seen before.
final class KnownListings: Sendable {
  typealias Known = (listing: DirectoryListing, entries: [FolderEntry])

  private let last = Lock<[String: Known]>([:])

  /// Longer ones are not kept.
  private static let entriesMax = 4096

  subscript(directory: String) -> Known? {
    get { last.withLock { $0[directory] } }
    set {
      let isKept = newValue.map { $0.entries.count <= KnownListings.entriesMax } ?? false
      last.withLock { $0[directory] = isKept ? newValue : nil }
    }
  }
}
