internal import Cairn

/// Where a folder is on a WebDAV server.
struct WebDAVAddress: Sendable {
  static let schemes = ["webdav+https", "webdav+http"]

  let origin: String
  /// Names of directories, not encoded.
  let base: [String]

  init(_ text: String) throws(CairnError) {
    let address = try ServerAddress(text)
    guard WebDAVAddress.schemes.contains(address.scheme), address.query.isEmpty else {
      throw CairnError(
        .illegalArgument, "the address of a WebDAV folder looks like webdav+https://host/folder")
    }
    let isPlain = address.scheme == "webdav+http"
    if isPlain, !address.isLoopback {
      throw CairnError(
        .illegalArgument,
        "webdav+http:// would send the password in the clear; only this machine itself is reached "
          + "that way. Use webdav+https://")
    }
    origin = (isPlain ? "http://" : "https://") + address.authority(isEncrypted: !isPlain)
    base = address.path
  }

  /// The path of something in the folder; of a directory with a slash at its end.
  func path(_ name: String, isDirectory: Bool = false) -> String {
    let names = base + name.split(separator: "/").map(String.init)
    let encoded = names.map { "/" + PercentCoding.encode($0) }.joined()
    return isDirectory ? encoded + "/" : encoded
  }
}
