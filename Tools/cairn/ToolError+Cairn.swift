import Cairn

extension ToolError {
  init(_ error: CairnError) {
    let status: ExitStatus =
      switch error.code {
      case .notFound: .notFound
      case .alreadyOpen: .openElsewhere
      default: .failure
      }
    self.init(
      status, error.code.rawValue,
      ToolError.translated(error.message) + ToolError.place(error)
        + ToolError.advice(error.code), file: error.file)
  }

  /// What the library's messages say of its own functions, as this tool has it.
  private static let words = [
    ("(Datastore.attach)", "(cairn blob put)"),
    ("which createDatastore() makes", "one that begins with a dot, as apps make them"),
    ("or migrate(to:) again from where it is now", "or cairn migrate again from where it is now"),
    ("call migrate(to:) with the account's manager", "run cairn migrate --to"),
  ]

  private static func translated(_ message: String) -> String {
    words.reduce(message) { text, word in text.replacing(word.0, with: word.1) }
  }

  /// Which folder a message is about that names a file in it.
  private static func place(_ error: CairnError) -> String {
    guard error.file == "cairn.json", error.code != .auth, let folder = FolderOption.inUse,
      !error.message.contains(folder)
    else { return "" }
    return " (the folder is \(folder))"
  }

  /// How what an error asks for is given to this tool.
  private static func advice(_ code: CairnError.Code) -> String {
    switch code {
    case .auth:
      " (--credentials FILE, or CAIRN_USER and CAIRN_PASSWORD, CAIRN_TOKEN, or AWS_ACCESS_KEY_ID "
        + "and AWS_SECRET_ACCESS_KEY in the environment)"
    case .ssl: " (--certificates FILE)"
    default: ""
    }
  }
}

extension CairnError {
  /// Names the datastores that there are, if this one is not there.
  func naming(_ ids: [String]) -> CairnError {
    guard code == .notFound, let id, message.hasPrefix("there is no datastore \(id) in ") else {
      return self
    }
    var result = self
    result.message +=
      ids.isEmpty
      ? "; no other one is there either (cairn ls)"
      : "; there \(ids.count == 1 ? "is" : "are") \(ids.joined(separator: ", ")), to be chosen "
        + "with --datastore (cairn ls lists them)"
    return result
  }
}
