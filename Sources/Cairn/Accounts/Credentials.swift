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

  /// A user and a password.
  public static func password(user: String, password: String) -> Credentials {
    Credentials(kind: .password, name: user, secret: password)
  }

  /// A bearer token.
  public static func bearer(_ token: String) -> Credentials {
    Credentials(kind: .bearer, name: nil, secret: token)
  }

  /// An access key: its id and its secret.
  public static func accessKey(id: String, secret: String) -> Credentials {
    Credentials(kind: .accessKey, name: id, secret: secret)
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
