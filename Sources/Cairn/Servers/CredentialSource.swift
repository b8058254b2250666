internal import CairnDisk
internal import CairnLog

/// Where the credentials for a server come from. They are asked for when they are needed and kept
/// in memory only; whatever prints a source, shows no secret.
public struct CredentialSource: Sendable {
  /// Whether a server knows what to do with credentials of a kind.
  package typealias Taking = @Sendable (Credentials.Kind) -> Bool
  private typealias Source = @Sendable (Taking) async throws(CairnError) -> Credentials?

  private let name: String
  private let source: Source

  private init(_ name: String, _ source: @escaping Source) {
    self.name = name
    self.source = source
  }

  /// The credentials as they are now; nil if there are none.
  public func credentials() async throws(CairnError) -> Credentials? {
    try await source { _ in true }
  }

  /// Those for a server, where there are several.
  package func credentials(for taking: @escaping Taking) async throws(CairnError) -> Credentials? {
    try await source(taking)
  }

  /// There are none.
  public static let none = CredentialSource("none") { _ async throws(CairnError) in nil }

  /// These.
  public static func given(_ credentials: Credentials) -> CredentialSource {
    CredentialSource("given") { _ async throws(CairnError) in credentials }
  }

  /// What a closure returns, which is called before the first request and after the server has
  /// refused what it returned before. It may ask a keychain, or fetch a new token.
  public static func closure(
    _ source: @escaping @Sendable () async throws(CairnError) -> Credentials?
  ) -> CredentialSource {
    CredentialSource("closure") { _ async throws(CairnError) in try await source() }
  }

  /// Variables of the environment: `CAIRN_USER` and `CAIRN_PASSWORD`, or `CAIRN_TOKEN`, or
  /// `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` (with `AWS_SESSION_TOKEN` if it is set). Each
  /// server is given the first of them that it takes: a bucket an access key, others a password or
  /// a token. Where there is none of that kind there are no credentials.
  public static let environment = CredentialSource("environment") {
    taking async throws(CairnError) in
    from(ProcessEnvironment.value).first { taking($0.kind) }
  }

  /// A text file that nobody but the user may read (mode 0600): lines like those of the
  /// environment, `CAIRN_USER=ana`; empty ones and those that begin with "#" say nothing. One that
  /// has credentials, and none for the server that is asked, is an error.
  ///
  /// Reading it throws `disallowed` if others may read it, `notFound` if it is not there.
  public static func file(_ path: String) -> CredentialSource {
    CredentialSource("file") { taking async throws(CairnError) in
      let found = try read(path, .real)
      return found.first { taking($0.kind) } ?? found.first
    }
  }

  static func read(_ path: String, _ machine: Machine) throws(CairnError) -> [Credentials] {
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
    let found = from { values[$0] }
    guard !found.isEmpty else {
      throw CairnError(
        .auth,
        "\(path) has no credentials: CAIRN_USER= and CAIRN_PASSWORD=, or CAIRN_TOKEN=, or "
          + "AWS_ACCESS_KEY_ID= and AWS_SECRET_ACCESS_KEY=, a line each", file: path)
    }
    return found
  }

  /// All that are there.
  static func from(_ value: (String) -> String?) -> [Credentials] {
    var found: [Credentials] = []
    if let user = value("CAIRN_USER"), let password = value("CAIRN_PASSWORD") {
      found.append(.password(user: user, password: password))
    }
    if let token = value("CAIRN_TOKEN") { found.append(.bearer(token)) }
    if let id = value("AWS_ACCESS_KEY_ID"), let secret = value("AWS_SECRET_ACCESS_KEY") {
      found.append(.accessKey(id: id, secret: secret, sessionToken: value("AWS_SESSION_TOKEN")))
    }
    return found
  }

  /// This one, and another where it has none.
  package func or(_ other: CredentialSource) -> CredentialSource {
    CredentialSource(name) { taking async throws(CairnError) in
      if let found = try await source(taking) { return found }
      return try await other.source(taking)
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
