public import Cairn

/// How far a pull is.
public struct CouchDBProgress: Hashable, Sendable {
  /// So many of so many.
  public struct Amount: Hashable, Sendable {
    /// Those that are through, whether they had to be fetched or not.
    public var done = 0
    /// Those there are to be, as far as that is known.
    public var total = 0
    /// Bytes that came for them.
    public var bytes: UInt64 = 0

    /// None.
    public init() {}

    /// From 0 to 1; 1 if there is nothing to do.
    public var fraction: Double { total > 0 ? min(1, Double(done) / Double(total)) : 1 }
  }

  /// Changed documents, deleted ones among them.
  public var documents = Amount()
  /// Contents of attachments.
  public var attachments = Amount()
  /// When it began; nil before the first.
  public var startedAt: Timestamp?
  /// Whether it is under way.
  public var isRunning = false

  /// Nothing.
  public init() {}

  /// Documents and attachments together, from 0 to 1.
  public var fraction: Double {
    let total = Double(documents.total) + Double(attachments.total)
    return total > 0 ? min(1, (Double(documents.done) + Double(attachments.done)) / total) : 1
  }

  /// Bytes that came.
  public var bytes: UInt64 { documents.bytes &+ attachments.bytes }
}
