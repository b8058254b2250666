/// An upload that did not succeed.
///
/// When it is handed over, the queue has been suspended once because of it, and the sets that did
/// arrive have left the queue. Nothing is uploaded before `ObjectStore.resume()`.
public struct UploadFailure: Sendable {
  /// Where the upload went.
  public let route: String
  /// The set that was refused; nil if the folder failed, and it is all that are in flight.
  public let changeSet: RecordID?
  /// What went wrong.
  public let error: CairnError
  /// The sets of this upload that have arrived.
  public let arrived: [RecordID]
}
