internal import CairnDisk
internal import CairnLog

/// Where the credentials for a server come from. They are asked for when they are needed and kept
/// in memory only; whatever prints a source, shows no secret.
public struct CredentialSource: Sendable {
  private let name: String
  private let source: @Sendable () async throws(CairnError) -> Credentials?

  private init(
    _ name: String, _ source: @escaping @Sendable () async throws(CairnError) -> Credentials?
  ) {
    self.name = name
    self.source = source
  }

  /// The credentials as they are now; nil if there are none.
  public func credentials() async throws(CairnError) -> Credentials? { try await source() }

  /// There are none.
  public static let none = CredentialSource("none") { () async throws(CairnError) in nil }

  /// These.
  public static func given(_ credentials: Credentials) -> CredentialSource {
    CredentialSource("given") { () async throws(CairnError) in credentials }
  }

  /// What a closure returns, which is called before the first request and after the server has
  /// refused what it returned before. It may ask a keychain, or fetch a new token.
  public static func closure(
    _ source: @escaping @Sendable () async throws(CairnError) -> Credentials?
  ) -> CredentialSource {
    CredentialSource("closure", source)
  }

  /// Variables of the environment: `CAIRN_USER` and `CAIRN_PASSWORD`, or `CAIRN_TOKEN`, or
  /// `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` (with `AWS_SESSION_TOKEN` if it is set).
  public static let environment = CredentialSource("environment") { () async throws(CairnError) in
    from(ProcessEnvironment.value)
  }

  /// A text file that nobody but the user may read (mode 0600): lines like those of the
  /// environment, `CAIRN_USER=ana`; empty ones and those that begin with "#" say nothing.
  ///
  /// Reading it throws `disallowed` if others may read it, `notFound` if it is not there.
  public static func file(_ path: String) -> CredentialSource {
    CredentialSource("file") { () async throws(CairnError) in try read(path, .real) }
  }

  static func read(_ path: String, _ machine: Machine) throws(CairnError) -> Credentials {
    let bytes: [UInt8]?
    do {
      bytes = try DurableFile.read(path, limit: 64 << 10, disk: machine.disk, isSecret: true)
    } catch { throw CairnError(error) }
    guard let bytes else {
      throw CairnError(.notFound, "there is no file of credentials \(path)", file: path)
    }
    var values: [String: String] = [:]
    for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
      if line.hasPrefix("#") { continue }
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
    }
    guard let credentials = from({ values[$0] }) else {
      throw CairnError(
        .auth,
        "\(path) has no credentials: CAIRN_USER= and CAIRN_PASSWORD=, or CAIRN_TOKEN=, or "
          + "AWS_ACCESS_KEY_ID= and AWS_SECRET_ACCESS_KEY=, a line each", file: path)
    }
    return credentials
  }

  static func from(_ value: (String) -> String?) -> Credentials? {
    if let user = value("CAIRN_USER"), let password = value("CAIRN_PASSWORD") {
      return .password(user: user, password: password)
    }
    if let token = value("CAIRN_TOKEN") { return .bearer(token) }
    guard let id = value("AWS_ACCESS_KEY_ID"), let secret = value("AWS_SECRET_ACCESS_KEY") else {
      return nil
    }
    return .accessKey(id: id, secret: secret, sessionToken: value("AWS_SESSION_TOKEN"))
  }

  /// This one, and another where it has none.
  package func or(_ other: CredentialSource) -> CredentialSource {
    CredentialSource(name) { () async throws(CairnError) in
      if let found = try await source() { return found }
      return try await other.credentials()
    }
  }
}

extension CredentialSource: CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// Where they come from, and nothing else.
  public var description: String { "CredentialSource(\(name))" }
  /// The same.
  public var debugDescription: String { description }
  /// Shows no parts: for `dump` and debuggers.
  public var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .struct) }
}
