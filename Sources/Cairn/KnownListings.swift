internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// The last listings of a folder's directories: nearly all that a poll costs is to take apart what
/// it has seen before.
final class KnownListings: Sendable {
  struct Known: Sendable {
    let listing: DirectoryListing
    let entries: [FolderEntry]
    /// Entries of the listing that may change: all but files that are written once.
    let changing: [Int]
    /// Looks that have left the others out since.
    fileprivate(set) var briefLooks = 0

    init(_ listing: DirectoryListing, _ entries: [FolderEntry]) {
      (self.listing, self.entries) = (listing, entries)
      changing = listing.entries.indices.filter {
        !FileName.isWrittenOnce(listing.entries[$0].name)
      }
    }
  }

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

  /// A look has found what is known; a brief one has not looked at all of it. Whoever has found
  /// something else meanwhile has said so already.
  func confirm(_ directory: String, _ known: Known, isBrief: Bool) {
    last.withLock { last in
      guard last[directory]?.listing === known.listing else { return }
      last[directory]?.briefLooks = isBrief ? known.briefLooks + 1 : 0
    }
  }
}
