/// How a user of an account is called. The app sets it; nothing is fetched by itself.
public struct AccountInfo: Hashable, Sendable {
  /// The user's name.
  public var userName: String
  /// The organisation that the user belongs to, nil for none. Role `team` goes by it.
  public var orgName: String?

  /// What is known of a user.
  public init(userName: String, orgName: String? = nil) {
    self.userName = userName
    self.orgName = orgName
  }

  /// The user's name or, in an organisation, "name (organisation)".
  public var displayName: String { orgName.map { "\(userName) (\($0))" } ?? userName }
}
