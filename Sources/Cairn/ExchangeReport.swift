/// What one round with the folder did.
public struct ExchangeReport: Hashable, Sendable {
  /// A file that is named but not there yet, or not wholly.
  public struct Waiting: Hashable, Sendable {
    /// The file's name in the datastore's directory.
    public var name: String
    /// Bytes that it will have, 0 if that is not known.
    public var bytes: UInt64
    /// Why.
    public var reason: String
  }

  /// A file that can't be used, and why: nothing of it was taken, and nothing else waits for it. Or
  /// one of this device that nobody needs any more, and that can't be removed.
  public struct Problem: Hashable, Sendable {
    /// The file's name in the datastore's directory.
    public var name: String
    /// Why.
    public var reason: String
  }

  /// Deltas, files and bytes that this device published.
  public var publishedDeltas: UInt64 = 0
  /// Files that were written, the head among them.
  public var publishedFiles = 0
  /// Their bytes.
  public var publishedBytes: UInt64 = 0
  /// Deltas, files and bytes that were fetched; the next `sync()` makes them visible.
  public var fetchedDeltas: UInt64 = 0
  /// Files that were fetched.
  public var fetchedFiles = 0
  /// Their bytes.
  public var fetchedBytes: UInt64 = 0
  /// Calls of the folder: listings, reads, writes, removals.
  public var requests = 0
  /// What went over the network for it; nil if the folder is none of a server.
  public var traffic: FolderTraffic?
  /// A whole snapshot was fetched instead of all deltas in it: to start from, or to be joined with
  /// what is here, since it is less to fetch or the folder has lost deltas.
  public var fetchedSnapshot = false
  /// A snapshot was published, for devices that are new.
  public var publishedSnapshot = false
  /// Own small files that were merged into larger ones.
  public var mergedFiles = 0
  /// Own files that the folder had lost and that were written again.
  public var republishedFiles = 0
  /// What is named but not there yet; and files here that build on deltas which nothing in the
  /// folder brings.
  public var waiting: [Waiting] = []
  /// What is here and not made visible, since it does not go with an agreement of the devices
  /// (`Datastore.askToForget()`, `Datastore.retireDevice(_:givingUp:)`): its device, or this one,
  /// has written without having seen that. The reason says how it comes in, and whose word is
  /// missing.
  public var held: [Waiting] = []
  /// What can't be used.
  public var problems: [Problem] = []
  /// Files in the datastore's directory that are none of ours and identical to ours, or of no
  /// interest.
  public var ignoredFiles = 0
  /// Another copy of this device (a clone, or itself before a backup was restored) publishes under
  /// its name, or another device has one. Nothing is published until what the folder has is here
  /// (see `waiting`); the next `sync()` then makes it one with what is only here, under a new name
  /// if need be (`SyncResult.newDevice`).
  public var isRejoining = false
  /// Devices that have published here, this one included.
  public var devices = 0
  /// Contents of attachments that were written into the folder.
  public var publishedAttachments = 0
  /// Their bytes.
  public var publishedAttachmentBytes: UInt64 = 0
  /// Contents of attachments that were fetched; they can be read at once.
  public var fetchedAttachments = 0
  /// Their bytes.
  public var fetchedAttachmentBytes: UInt64 = 0
  /// Contents that the policy wants, and that are neither here nor in the folder (yet). That is no
  /// reason for anything else to wait.
  public var missingAttachments = 0
  /// Contents that the policy wants, and that are longer than `Limits.attachmentBytes`: they are
  /// not fetched.
  public var skippedAttachments = 0

  /// Those of the problems that are about contents of attachments; nil: nobody looked at contents.
  var contentProblems: [Problem]? {
    get { beside.contentProblems }
    set { beside.contentProblems = newValue }
  }
  private var beside = Beside()

  /// What a report does not say itself: two with the same public members are equal.
  private struct Beside: Hashable {
    var contentProblems: [Problem]?

    static func == (a: Beside, b: Beside) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
  }

  /// A report of nothing.
  public init() {}

  /// Nothing was published, fetched or missed.
  public var isIdle: Bool {
    publishedFiles == 0 && fetchedFiles == 0 && waiting.isEmpty && mergedFiles == 0
      && republishedFiles == 0 && publishedAttachments == 0 && fetchedAttachments == 0
  }
}

/// A device that takes part in a datastore, as its head in the folder tells.
public struct DeviceInfo: Hashable, Sendable {
  /// 16 hex digits.
  public var id: String
  /// The user that its device gave.
  public var user: String
  /// Whether it is this very device.
  public var isThisDevice: Bool
  /// Deltas that it has published.
  public var publishedDeltas: UInt64
  /// How many of them are visible here.
  public var incorporatedDeltas: UInt64
  /// Files that it has published and not replaced.
  public var files: Int
  /// Their bytes.
  public var bytes: UInt64
  /// Whether it was retired: nobody waits for it any more.
  public var isRetired: Bool
  /// Whether it has not said yet that it has seen what somebody asked all devices to agree on
  /// (`Datastore.askToForget()`, `Datastore.retireDevice(_:givingUp:)`): until it has, or is
  /// retired, the others can't agree.
  public var isAwaited: Bool
  /// How many deltas of each device it had incorporated when it last said so.
  public var acknowledged: [String: UInt64]
}
