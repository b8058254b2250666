public import Cairn

/// Which documents and attachments a follower brings here, and in which order.
///
/// It is asked before anything is fetched, and asked again at each pull about whatever is not here
/// yet: so another answer brings what was left. Of documents that are too large for
/// `CouchDBOptions.answerBytes` it is not asked again until that is raised or they change. Design
/// documents are never asked about nor fetched.
public struct CouchDBPolicy: Sendable {
  /// What is done about one of them.
  @nonexhaustive
  public enum Decision: Hashable, Sendable {
    /// It is fetched; higher priorities first. All documents come before all attachments.
    case fetch(CouchDBPriority = .normal)
    /// It stays on the server. An older revision that is here stays, too.
    case leave
  }

  private let document: @Sendable (CouchDBChange) -> Decision
  private let attachment: @Sendable (CouchDBAttachment) throws(CairnError) -> Decision

  /// A policy. The closures are called on any thread.
  ///
  /// - Parameters:
  ///   - document: Asked for each document that has changed or was left; not for deletions.
  ///   - attachment: Asked for each attachment whose content is not here, or is an older one.
  public init(
    document: @escaping @Sendable (CouchDBChange) -> Decision = { _ in .fetch(.normal) },
    attachment: @escaping @Sendable (CouchDBAttachment) throws(CairnError) -> Decision = { _ in
      .fetch(.low)
    }
  ) {
    self.document = document
    self.attachment = attachment
  }

  /// Everything: documents as normal, attachments as low. The default.
  public static let all = CouchDBPolicy()
  /// Documents, and no content of an attachment.
  public static let documentsOnly = CouchDBPolicy(
    attachment: { (_) throws(CairnError) in .leave })

  /// What is done about a document.
  public func decision(_ change: CouchDBChange) -> Decision { document(change) }

  /// What is done about the content of an attachment.
  public func decision(_ stale: CouchDBAttachment) throws(CairnError) -> Decision {
    try attachment(stale)
  }
}

/// How urgent something is.
@nonexhaustive
public enum CouchDBPriority: Int, Hashable, Sendable, CaseIterable, Comparable {
  case low, normal, high

  public static func < (a: CouchDBPriority, b: CouchDBPriority) -> Bool { a.rawValue < b.rawValue }
}

/// A document that has changed on the server.
public struct CouchDBChange: Hashable, Sendable {
  /// Its id.
  public var id: String
  /// The newest revisions that nobody has changed since: one, or several that are in conflict.
  public var revisions: [String]
}
