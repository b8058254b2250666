public import Cairn

/// What a pull did.
public struct CouchDBReport: Hashable, Sendable {
  /// Documents that were fetched and kept.
  public var documents = 0
  /// Documents that were deleted on the server, and so here.
  public var deletions = 0
  /// Changes of documents that were here already: sent again, or pulled before an interruption.
  public var unchanged = 0
  /// Documents that the policy leaves on the server.
  public var left = 0
  /// Changed design documents, which are not fetched.
  public var designDocuments = 0
  /// Fetched documents of which the server has revisions that lost.
  public var conflicted = 0
  /// Contents of attachments that were fetched.
  public var attachments = 0
  /// Contents that could not be had, or were not what the document says: they stay stale, and the
  /// next pull tries again.
  public var failedAttachments = 0
  /// Another database was found in the place of the one that was pulled before, or its address was
  /// changed; this is it.
  public var wasRecreated = false
  /// What could not be had, and why: for people. At most a hundred.
  public var problems: [String] = []
  /// What went over the network.
  public var traffic = FolderTraffic()

  /// Nothing.
  public init() {}

  mutating func note(_ problem: String) {
    if problems.count < 100 { problems.append(problem) }
  }
}
