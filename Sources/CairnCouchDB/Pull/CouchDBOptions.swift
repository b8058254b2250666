public import Cairn

/// How a follower goes about it.
public struct CouchDBOptions: Sendable {
  /// Which documents and attachments are brought here.
  public var policy = CouchDBPolicy.all
  /// Documents that one request asks for; 0: as many as one page of changes has.
  public var docsPerRequest = 100
  /// Requests under way at once, for documents, and then for attachments.
  public var maxConcurrentFetches = 3
  /// Changes that one request asks for.
  public var changesPerRequest = 1000
  /// Bytes of one answer with documents. Where several have more they are asked for in smaller
  /// groups; a single one that has more is not fetched, and the report names it.
  public var answerBytes = 64 << 20
  /// Log in once and send a cookie (`_session`), instead of user and password with each request.
  public var usesSession = false
  /// How long a request for news waits on the server, in seconds; less than the settings'
  /// `stallSeconds`.
  public var newsSeconds: Double = 25
  /// Credentials, time-outs, how often to try; nothing about them is kept.
  public var server = ServerSettings()

  /// Waits for so many seconds.
  var pause: @Sendable (Double) async throws -> Void = { try await Task.sleep(for: .seconds($0)) }

  /// The defaults.
  public init() {}
}
