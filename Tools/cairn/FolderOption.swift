import Cairn
import Synchronization

#if CAIRN_SERVERS
  import CairnS3
  import CairnWebDAV
#endif

/// A shared folder as it is typed: a directory (`dir:PATH`, or just the path), or the address of
/// one on a server (`webdav+https://host/path`, `s3://bucket/prefix?endpoint=https://host`).
enum FolderOption {
  /// What is remembered: an absolute path, or the address.
  static func normalized(_ text: String) throws -> String {
    if isAddress(text) {
      let schemes = kinds(credentials: nil, certificates: nil).flatMap(\.schemes)
      guard schemes.contains(where: { text.lowercased().hasPrefix($0 + "://") }) else {
        throw ToolError.usage(
          schemes.isEmpty
            ? "this cairn was built without folders on servers; --folder takes a directory"
            : "--folder takes a directory, or an address that begins with "
              + schemes.map { $0 + "://" }.joined(separator: ", "))
      }
      return text
    }
    return try Descriptor.plain(text.hasPrefix("dir:") ? String(text.dropFirst(4)) : text)
  }

  /// Which folder this process works with, for messages about it: the library's name a file in it.
  private static let used = Mutex<String?>(nil)

  static func note(_ folder: String?) { used.withLock { $0 = folder ?? $0 } }

  static var inUse: String? { used.withLock { $0 } }

  static func location(_ text: String) -> FolderLocation {
    isAddress(text) ? .server(ServerFolder(text)) : .directory(text)
  }

  /// `scheme://`: no path that anybody means looks like that.
  static func isAddress(_ text: String) -> Bool {
    guard let mark = text.firstRange(of: "://") else { return false }
    return text[..<mark.lowerBound].allSatisfy {
      $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0))
    }
  }

  /// What opens folders on servers.
  ///
  /// - Parameters:
  ///   - credentials: The file of credentials; nil: they are in the environment.
  ///   - certificates: A file of certificates that are trusted besides the system's.
  ///   - budget: What this process may use; nil: anything.
  static func kinds(
    credentials: String?, certificates: String?, budget: ServerBudget? = nil
  ) -> [FolderKind] {
    #if CAIRN_SERVERS
      var settings = ServerSettings()
      if let credentials { settings.credentials = .file(credentials) }
      settings.certificateFile = certificates
      budget?.apply(to: &settings)
      return [.webDAV(settings), .s3(settings)]
    #else
      return []
    #endif
  }

  static let help =
    "Shared folder where devices meet: a directory, webdav+https://HOST/PATH or "
    + "s3://BUCKET/PREFIX?endpoint=https://HOST"
}
