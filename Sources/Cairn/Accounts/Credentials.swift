/// What a folder wants to see before it lets a user in. Whatever prints it, shows no secret.
public struct Credentials: Hashable, Sendable {
  /// What kind of credentials they are.
  @nonexhaustive
  public enum Kind: String, Hashable, Sendable {
    case password, bearer, accessKey
  }

  /// What kind of credentials they are.
  public let kind: Kind
  /// The name that goes with the secret: the user's, or an access key's id. Nil for a token.
  public let name: String?
  /// The password, the token, or the secret key. Don't log it.
  public let secret: String
  /// What temporary access keys come with; nil for others. Don't log it.
  public let sessionToken: String?

  private init(kind: Kind, name: String?, secret: String, sessionToken: String? = nil) {
    self.kind = kind
    self.name = name
    self.secret = secret
    self.sessionToken = sessionToken
  }

  /// A user and a password.
  public static func password(user: String, password: String) -> Credentials {
    Credentials(kind: .password, name: user, secret: password)
  }

  /// A bearer token.
  public static func bearer(_ token: String) -> Credentials {
    Credentials(kind: .bearer, name: nil, secret: token)
  }

  /// An access key: its id and its secret, and the token of a temporary one. `FileCredentialStore`
  /// keeps no token, and throws: whoever has a temporary key gives a `CredentialSource`, or has a
  /// `CredentialStore` that keeps it.
  public static func accessKey(
    id: String, secret: String, sessionToken: String? = nil
  ) -> Credentials {
    Credentials(kind: .accessKey, name: id, secret: secret, sessionToken: sessionToken)
  }
}

extension Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The kind, and nothing else.
  public var description: String { "Credentials(\(kind.rawValue))" }
  /// The same.
  public var debugDescription: String { description }
  /// Shows no parts: for `dump` and debuggers.
  public var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .struct) }
}
