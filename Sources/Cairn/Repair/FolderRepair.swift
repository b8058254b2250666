/// What `Datastore.repairFolder()` found in the folder, and what it did about it.
///
/// Files of this device are looked into: those that its head in the folder names, and contents of
/// attachments; and of contents that are here and that only other devices have there, their copies
/// until a good one is found. Every device mends its own, from what it has at home; what others'
/// files had that are gone is in the snapshot that is published then.
public struct FolderRepair: Hashable, Sendable {
  /// A file that is there and is not what it should be.
  public struct Damage: Hashable, Sendable {
    /// The file's name in the datastore's directory.
    public var name: String
    /// What is wrong with it.
    public var reason: String
  }

  /// Deltas of this device, from the first to the last.
  public struct Range: Hashable, Sendable {
    /// The first of them.
    public var first: UInt64
    /// The last of them.
    public var last: UInt64
  }

  /// Files that were read to the last byte.
  public var checkedFiles = 0
  /// Their bytes.
  public var checkedBytes: UInt64 = 0
  /// Names of files that the head names and the folder does not have, and of contents of
  /// attachments that are here, were there, and are there under no name now.
  public var missing: [String] = []
  /// Names of files that the folder lists and has no content of yet: nobody has looked into them.
  public var unread: [String] = []
  /// Files whose bytes are wrong.
  public var damaged: [Damage] = []
  /// Names of the files that were written in their place, the head not among them.
  public var written: [String] = []
  /// Deltas whose files could not be written anew, since the log at home has been folded into the
  /// snapshot since: other devices get them from the snapshot that was published instead.
  public var onlyInSnapshot: [Range] = []
  /// A snapshot was published, or written again.
  public var publishedSnapshot = false
  /// What could not be looked into, or not be mended, in words: nothing is lost, and a later round
  /// may do it.
  public var problems: [String] = []
  /// What the round did besides.
  public var exchange = ExchangeReport()

  /// A report of nothing.
  public init() {}

  /// Everything that this device has published was there, and was right, as far as it could be
  /// looked into; and so were the copies of other devices that were looked into.
  public var wasWhole: Bool { missing.isEmpty && damaged.isEmpty }

  /// All of that is there now, as far as it could be looked into: nothing was missing or damaged,
  /// or it was put back. A dry run puts nothing back.
  public var isWhole: Bool {
    problems.isEmpty && (wasWhole || !written.isEmpty || publishedSnapshot)
  }
}
