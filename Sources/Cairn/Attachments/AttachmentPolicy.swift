/// Which contents of attachments a device fetches by itself, and in which order.
///
/// The records are always there; only contents are chosen. What is in no hurry comes last: contents
/// are fetched after all deltas, the higher priorities first, smaller ones before larger ones.
public struct AttachmentPolicy: Sendable {
  /// What is done about one content.
  @nonexhaustive
  public enum Fetch: Hashable, Sendable {
    /// Fetched as soon as the folder has it; higher priorities first.
    case always(priority: Int)
    /// Fetched when `Attachment.fetch()` asks for it.
    case onDemand
    /// Not fetched on this device, even if it is asked for.
    case never
  }

  private let choose: @Sendable (AttachmentUse) -> Fetch

  /// A policy that is asked for each use of an attachment in a record; the most eager answer of all
  /// uses counts. It is asked again when the datastore is opened. Called on any thread; it must not
  /// use the datastore.
  public init(_ choose: @escaping @Sendable (AttachmentUse) -> Fetch) { self.choose = choose }

  /// Everything is fetched. The default: what is in the datastore is there without a network.
  public static let always = AttachmentPolicy { _ in .always(priority: 0) }
  /// Nothing is fetched unless it is asked for.
  public static let onDemand = AttachmentPolicy { _ in .onDemand }
  /// Nothing is fetched.
  public static let never = AttachmentPolicy { _ in .never }

  /// Contents of at most so many bytes are fetched, others when they are asked for.
  public static func upTo(bytes: UInt64) -> AttachmentPolicy {
    AttachmentPolicy { $0.id.length <= bytes ? .always(priority: 0) : .onDemand }
  }

  /// What is done about a content that a record refers to.
  public func fetch(_ use: AttachmentUse) -> Fetch { choose(use) }
}

extension AttachmentPolicy.Fetch {
  /// The more eager of two answers.
  func merged(with other: Self) -> Self {
    switch (self, other) {
    case (.always(let a), .always(let b)): .always(priority: max(a, b))
    case (.always, _): self
    case (_, .always): other
    case (.onDemand, _), (_, .onDemand): .onDemand
    case (.never, .never): .never
    }
  }
}
