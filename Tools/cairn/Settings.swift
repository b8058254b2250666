import Cairn

/// What a root was last used with: a small text file beside it, `<root>.settings`, so that later
/// calls needn't repeat the options, however they name the root. One `name value` a line.
struct Settings: Equatable {
  var folder: String?
  var user: String?
  var limits: LimitsChoice?
  /// The paths of files for a folder on a server.
  var credentials: String?
  var certificates: String?

  /// How a folder on a server is reached, as options of a command.
  var serverOptions: [String] {
    [("--credentials", credentials), ("--certificates", certificates)].flatMap { name, file in
      file.map { ShellLine.option(name, $0) } ?? []
    }
  }

  /// Who the user is if nobody was named.
  static var defaultUser: String {
    // An empty variable is one that is not set.
    Descriptor.environment("USER").flatMap { $0.isEmpty ? nil : $0 } ?? "me"
  }

  /// Where something of a root is remembered.
  static func path(root: String, _ suffix: String = ".settings") throws -> String {
    try Descriptor.real(root) + suffix
  }

  /// Where the file is that counts: that of an older cairn has the root's name as it was typed.
  static func known(root: String, _ suffix: String = ".settings") throws -> String {
    let path = try path(root: root, suffix)
    if Descriptor.exists(path) { return path }
    let typed = typed(root, suffix)
    return Descriptor.exists(typed) ? typed : path
  }

  private static func typed(_ root: String, _ suffix: String) -> String {
    var typed = root
    while typed.count > 1, typed.hasSuffix("/") { typed.removeLast() }
    return typed + suffix
  }

  /// Writes what is to be remembered of a root to the place that counts. The directory above what
  /// a link leads to may be nobody's to write in: then beside the link, as an older cairn did.
  static func write(_ text: String, root: String, _ suffix: String = ".settings") throws {
    let (path, typed) = (try path(root: root, suffix), typed(root, suffix))
    let isOther = try Descriptor.real(typed) != path
    do { try Descriptor.replace(path, with: Array(text.utf8)) } catch {
      guard isOther, !Descriptor.exists(path) else { throw error }
      return try Descriptor.replace(typed, with: Array(text.utf8))
    }
    // The link may lead to another root one day, of which it says nothing.
    if isOther { Descriptor.remove(typed) }
  }

  /// Whether all that is remembered of a root is where every way to name it leads.
  static func isInPlace(root: String) throws -> Bool {
    let (known, path) = (try known(root: root), try path(root: root))
    return known == path || !Descriptor.exists(known)
  }

  init(root: String) throws {
    let path = try Self.known(root: root)
    guard Descriptor.exists(path) else { return }
    guard let text = String(validating: try Descriptor.content(of: path), as: UTF8.self) else {
      throw Self.problem(path, "isn't UTF-8")
    }
    for (index, line) in text.split(separator: "\n").enumerated() {
      let parts = line.split(separator: " ", maxSplits: 1)
      guard parts.count == 2 else { throw Self.problem(path, "line \(index + 1) has no value") }
      let value = String(parts[1])
      switch parts[0] {
      case "folder": folder = value
      case "user": user = value
      case "credentials": credentials = value
      case "certificates": certificates = value
      case "limits":
        guard let choice = LimitsChoice(rawValue: value) else {
          throw Self.problem(path, "line \(index + 1) names limits that don't exist")
        }
        limits = choice
      default: throw Self.problem(path, "line \(index + 1) is unknown")
      }
    }
  }

  func save(root: String) throws {
    let lines = [
      folder.map { "folder \($0)\n" }, user.map { "user \($0)\n" },
      limits.map { "limits \($0.rawValue)\n" }, credentials.map { "credentials \($0)\n" },
      certificates.map { "certificates \($0)\n" },
    ]
    let text = lines.compactMap(\.self).joined()
    try Self.write(text, root: root)
  }

  private static func problem(_ path: String, _ reason: String) -> ToolError {
    ToolError(.failure, "settings", "\(path) \(reason); mend or remove it", file: path)
  }
}
