/// What `Datastore.collectAttachments` removed, and what it left.
public struct AttachmentCollection: Hashable, Sendable {
  /// Contents that were removed from this device.
  public var removedHere = 0
  /// Their bytes.
  public var bytesHere: UInt64 = 0
  /// Files of this device that were removed from the folder.
  public var removedInFolder = 0
  /// Their bytes.
  public var bytesInFolder: UInt64 = 0
  /// Contents that nothing refers to and whose grace has not ended.
  public var waiting = 0
  /// Files of this device in the folder that nothing refers to and that stay, since some device has
  /// not told yet that it knows that.
  public var unacknowledged = 0
  /// Nothing was removed, since a record has an attachment that only a newer version can read: it
  /// might be any.
  public var needsNewerVersion = false

  /// A report of nothing.
  public init() {}
}
