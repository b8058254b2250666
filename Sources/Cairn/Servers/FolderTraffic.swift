/// What went over the network for a folder.
public struct FolderTraffic: Hashable, Sendable {
  /// Requests that were sent, those that were tried again among them.
  public var requests = 0
  /// How many of them were tries after the first.
  public var retries = 0
  /// Bytes of bodies that were sent, also those of tries that failed.
  public var sentBytes: UInt64 = 0
  /// Bytes of bodies that were received, also those of answers that were refused.
  public var receivedBytes: UInt64 = 0

  /// None.
  public init() {}

  /// What came since an earlier moment.
  public func since(_ earlier: FolderTraffic) -> FolderTraffic {
    var result = FolderTraffic()
    result.requests = requests &- earlier.requests
    result.retries = retries &- earlier.retries
    result.sentBytes = sentBytes &- earlier.sentBytes
    result.receivedBytes = receivedBytes &- earlier.receivedBytes
    return result
  }
}
