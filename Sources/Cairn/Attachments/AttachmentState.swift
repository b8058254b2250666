/// Where the content of an attachment is, as seen from this device. Contents never change (another
/// one is another attachment), so none is ever out of date.
@nonexhaustive
public enum AttachmentState: String, Hashable, Sendable, CaseIterable {
  /// On this device, whole, and checked when it came.
  case here
  /// Not on this device, but in the folder when that was last looked at; or nobody has looked yet.
  case remote
  /// Neither on this device nor, when that was last looked at, in the folder: still on its way from
  /// the device that has it, or lost. Devices that have it put it back by themselves.
  case missing
  /// Written by a newer version, which alone can tell.
  case needsNewerVersion
}

/// An attachment that a record refers to.
public struct AttachmentUse: Hashable, Sendable {
  /// Id of the table.
  public var table: String
  /// Id of the record.
  public var record: RecordID
  /// Name of the field. It may be a list that has the attachment among its items.
  public var field: String
  /// Which content it is.
  public var id: AttachmentID
}
