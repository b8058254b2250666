internal import CairnStore

/// How a manager's datastores behave.
public struct Options: Sendable {
  /// When a commit is safe from a power cut. It is always safe from the app's own end.
  @nonexhaustive
  public enum Durability: Hashable, Sendable {
    /// When `sync()` returns: one sync of the disk a commit.
    case full
    /// With the first `sync()` that comes so many seconds after the last one that was safe, and
    /// all before it as well; at close; and before it is published. Nothing runs by itself when the
    /// time has passed: the last commit before a quiet hour waits for one of these. What a power
    /// cut takes are the newest commits, whole ones.
    case periodic(seconds: Double)
    /// When the operating system likes; for data that can be made again.
    case none
  }

  // What behaviour depends on:
  /// When a commit is safe from a power cut. Default: when `sync()` returns.
  public var durability = Durability.full
  /// How much a datastore may hold.
  public var limits = Limits()
  /// Whether the log is folded into a snapshot by itself when it has grown. Otherwise `compact()`.
  public var compactsAutomatically = true

  // What speed and memory depend on:
  /// Unpacked data of its snapshot that each open datastore keeps in memory, in bytes. Default 64
  /// MiB.
  public var cacheBytes = 64 << 20
  /// A log file is closed at this size, in bytes: 64 KiB to 256 MiB. Default 8 MiB.
  public var segmentBytes = 8 << 20

  // What the exchange with a folder depends on:
  /// What opens folders on servers that are given by their address alone: `[.webDAV(), .s3()]`.
  public var folderKinds: [FolderKind] = []
  /// Shortest and longest pause between two looks at a quiet folder, in seconds.
  public var pollSeconds: ClosedRange<Double> = 1...60
  /// How long files that were merged into larger ones stay in the folder, in seconds, for devices
  /// that are reading them. Default one hour.
  public var graceSeconds: Double = 3600
  /// How much other devices may delete here at once before somebody is asked; nil: anything.
  public var massDeleteLimit: MassDeleteLimit? = MassDeleteLimit()
  /// How long records stay in `Datastore.trash` that other devices have deleted, in days; 0: none
  /// are kept. Default 30.
  public var trashDays: Double = 30
  /// So many bytes of them are kept, at most 1 GiB; the oldest go first. Default 64 MiB.
  public var trashBytes = 64 << 20

  // Contents of attachments:
  /// Which of them this device fetches by itself. Default: all.
  public var attachments = AttachmentPolicy.always
  /// How long a content stays that nothing refers to any more, in seconds, on this device; in the
  /// folder for as long again after all devices know that, or for `trashDays` if that is longer.
  /// Default 30 days, as records in the trash do. Let `trashDays` be the same on all devices: one
  /// that comes back from a trash that keeps longer may come without its content.
  public var attachmentGraceSeconds: Double = 30 * 86_400

  var attachmentGraceMilliseconds: Int64 {
    Int64(max(0, min(attachmentGraceSeconds, 1e9)) * 1000)
  }

  /// What apps have no reason to choose.
  package var tuning = Tuning()

  /// The defaults.
  public init() {}

  var stored: StoreOptions {
    var options = StoreOptions()
    switch durability {
    case .full: options.durability = .full
    case .periodic(let seconds):
      options.durability = .periodic(milliseconds: Int64(max(0, min(seconds, 1e9)) * 1000))
    case .none: options.durability = .none
    }
    options.limits = limits.stored
    options.compactsAutomatically = compactsAutomatically
    options.cacheBytes = max(0, cacheBytes)
    options.trashMilliseconds = Int64(max(0, min(trashDays, 1e6)) * 86_400_000)
    options.trashBytes = max(0, trashBytes)
    options.segmentBytes = max(64 << 10, min(segmentBytes, 256 << 20))
    tuning.apply(to: &options)
    return options
  }
}
