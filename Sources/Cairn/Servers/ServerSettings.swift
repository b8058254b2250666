/// How a folder on a server is used.
public struct ServerSettings: Sendable {
  /// Who says who we are. Credentials that belong to an account come before these.
  public var credentials = CredentialSource.environment
  /// A file of certificates (PEM) that are trusted besides the system's: for a server with an
  /// authority of its own. Certificates are always verified.
  public var certificateFile: String?
  /// How long to wait for a connection, in seconds.
  public var connectSeconds: Double = 15
  /// A transfer in which nothing has moved for so many seconds has stalled, and is tried again.
  /// What is sent may lie in buffers on its way: an upload above 64 KiB is waited for 4 to 12 times
  /// as long.
  public var stallSeconds: Double = 30
  /// How often a request is tried if the server is busy or the connection breaks. 1: once.
  public var attempts = 5
  /// The longest pause between two tries, in seconds. A server that asks for a longer one is
  /// believed: the round ends then, and the next one comes later.
  public var longestPauseSeconds: Double = 20
  /// What may be used in an hour; nil: anything.
  public var budget: TransferBudget?
  /// What may be used in an hour while `isMetered` says so.
  public var meteredBudget: TransferBudget? = TransferBudget(
    requestsPerHour: 120, bytesPerHour: 8 << 20)
  /// Asked before each request: whether traffic costs the user something just now.
  public var isMetered: @Sendable () -> Bool = { false }

  /// The defaults.
  public init() {}

  /// The defaults, with these credentials.
  public init(credentials: CredentialSource) { self.credentials = credentials }
}

/// What folders on a server may use in an hour. Used up, requests throw `quota` until the hour has
/// moved on; what was begun is completed. A request for which there is no room any more waits for
/// that, too, and a file that alone is larger than the budget until the budget is another one. Only
/// a commit of this device that is larger, and can't go in parts, goes all the same when at least
/// half of the hour is unused, and its device's head with it: nothing else does in that hour.
/// What has more than 64 KiB leaves the last sixteenth of the bytes, 64 KiB at most, to the rest,
/// and as much as it needs to a commit that waits for room.
///
/// It is shared by the datastores of one `FolderKind`, and kept in memory: each process has its
/// own, and begins with an hour in which nothing was used.
public struct TransferBudget: Hashable, Sendable {
  /// Requests in any hour; nil: any number.
  public var requestsPerHour: Int?
  /// Bytes of bodies, both ways together, in any hour; nil: any number.
  public var bytesPerHour: UInt64?

  /// A budget.
  public init(requestsPerHour: Int? = nil, bytesPerHour: UInt64? = nil) {
    self.requestsPerHour = requestsPerHour
    self.bytesPerHour = bytesPerHour
  }
}
