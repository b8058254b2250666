/// What one round with the folder did.
public struct ExchangeReport: Hashable, Sendable {
  /// A file that is named but not there yet, or not wholly.
  public struct Waiting: Hashable, Sendable {
    public var name: String
    /// Bytes that it will have, 0 if that is not known.
    public var bytes: UInt64
    public var reason: String
  }

  /// A file that can't be used, and why. Nothing of it was taken, and nothing else waits for it.
  public struct Problem: Hashable, Sendable {
    public var name: String
    public var reason: String
  }

  /// Deltas, files and bytes that this device published.
  public var publishedDeltas: UInt64 = 0
  public var publishedFiles = 0
  public var publishedBytes: UInt64 = 0
  /// Deltas, files and bytes that were fetched; the next `sync()` makes them visible.
  public var fetchedDeltas: UInt64 = 0
  public var fetchedFiles = 0
  public var fetchedBytes: UInt64 = 0
  /// Calls of the folder: listings, reads, writes, removals.
  public var requests = 0
  /// A whole snapshot was fetched instead of all deltas.
  public var fetchedSnapshot = false
  public var publishedSnapshot = false
  /// Own small files that were merged into larger ones.
  public var mergedFiles = 0
  public var waiting: [Waiting] = []
  public var problems: [Problem] = []
  /// Files in the datastore's directory that are none of ours and identical to ours, or of no
  /// interest.
  public var ignoredFiles = 0
  /// Devices that have published here, this one included.
  public var devices = 0

  public init() {}

  /// Nothing was published, fetched or missed.
  public var isIdle: Bool {
    publishedFiles == 0 && fetchedFiles == 0 && waiting.isEmpty && mergedFiles == 0
  }
}

/// A device that takes part in a datastore, as its head in the folder tells.
public struct DeviceInfo: Hashable, Sendable {
  /// 16 hex digits.
  public var id: String
  public var user: String
  public var isThisDevice: Bool
  /// Deltas that it has published.
  public var publishedDeltas: UInt64
  /// How many of them are visible here.
  public var incorporatedDeltas: UInt64
  public var files: Int
  public var bytes: UInt64
  /// How many deltas of each device it had incorporated when it last said so.
  public var acknowledged: [String: UInt64]
}
