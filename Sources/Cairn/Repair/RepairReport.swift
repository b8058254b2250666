/// What a repair found and did, or would do.
public struct RepairReport: Hashable, Sendable {
  /// Something that can't be read any more.
  public struct Loss: Hashable, Sendable {
    /// Path of the file, in the original.
    public var file: String
    /// Where in the file, in bytes.
    public var offset: UInt64?
    /// What is lost, in words. What the folder has of it is back all the same.
    public var message: String
  }

  /// The datastore's id.
  public var datastore: String
  /// What is wrong with it; empty if nothing is, and then nothing was done.
  public var findings: [Finding] = []
  /// What INFO knows of that the log has no more, in words: nothing that a repair could mend, and
  /// the next opening takes what is here for all there was. Nil if it knows of nothing else.
  public var lostEnd: String?
  /// What could not be read here.
  public var losses: [Loss] = []
  /// Records of the snapshot that were read here.
  public var snapshotRecords = 0
  /// Deltas of the log that were read here.
  public var logDeltas = 0
  /// Places where a single wrong bit was found by the checksum and put right: no loss.
  public var mendedBits = 0
  /// Deltas that came from the folder.
  public var fetchedDeltas = 0
  /// Files that the folder names but does not have; their content may come later.
  public var waiting: [ExchangeReport.Waiting] = []
  /// Records that were put back as changes of this device, since only it had them.
  public var reinserted = 0
  /// Records that the repaired datastore has.
  public var records = 0
  /// What the damaged copy was called, if that could be read, and what the new one is.
  public var oldDevice: String?
  /// The name of this device in the repaired datastore, 16 hex digits.
  public var device: String?
  /// Where the original is now; nil if it is where it was.
  public var original: String?

  /// Whether there was anything to repair.
  public var wasNeeded: Bool { !findings.isEmpty }

  init(datastore: String) { self.datastore = datastore }
}
