internal import CairnLog
internal import CairnMerge

/// What lies in a datastore's directory of the folder, sorted by what the names say. It is kept for
/// as long as listings are the same: looking at an idle folder is to cost little, however many
/// files it has.
final class FolderListing: Sendable {
  let entries: [FolderEntry]
  let byName: [String: FolderEntry]
  /// Heads, in the order of the listing.
  let heads: [FolderEntry]
  /// Names of published segments, by device.
  let published: [DeviceID: [String]]
  /// Files that are not ours by name.
  let strangers: [FolderEntry]

  init(_ entries: [FolderEntry]) {
    self.entries = entries
    byName = Dictionary(entries.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    var heads: [FolderEntry] = []
    var published: [DeviceID: [String]] = [:]
    var strangers: [FolderEntry] = []
    for entry in entries {
      if let segment = FileName.published(entry.name) {
        published[DeviceID(rawValue: segment.device), default: []].append(entry.name)
      } else if FileName.headDevice(entry.name) != nil {
        heads.append(entry)
      } else if FileName.sharedSnapshot(entry.name) == nil, !FileName.isTemporary(entry.name) {
        strangers.append(entry)
      }
    }
    (self.heads, self.published, self.strangers) = (heads, published, strangers)
  }
}

extension Exchange.Memory {
  /// That of a listing; the one that is known if nothing has changed.
  mutating func listing(of entries: [FolderEntry]) -> FolderListing {
    if let known = listing, known.entries == entries { return known }
    let new = FolderListing(entries)
    listing = new
    return new
  }

  /// What a round has found out of a listing and the heads of which that is true.
  struct Finding {
    private let listing: FolderListing
    private let headChanges: Int

    init(_ listing: FolderListing, _ memory: Exchange.Memory) {
      (self.listing, headChanges) = (listing, memory.headChanges)
    }

    func isOf(_ listing: FolderListing, _ memory: Exchange.Memory) -> Bool {
      self.listing === listing && headChanges == memory.headChanges
    }
  }
}
