internal import Cairn

/// Where a database is: `https://host:port/prefix/database`.
struct CouchAddress: Sendable {
  /// `https://host:port`.
  let origin: String
  /// Names between the slashes before the database, not encoded.
  let prefix: [String]
  let database: String

  /// Stands for an escaped slash while the path is taken apart: names of databases may have some.
  private static let slash = "\u{1}"

  init(_ text: String) throws(CairnError) {
    let kept = text.replacing("%2F", with: "%01").replacing("%2f", with: "%01")
    let address = try ServerAddress(kept)
    let isPlain = address.scheme == "http"
    guard isPlain || address.scheme == "https", address.query.isEmpty, !text.contains("%01"),
      let last = address.path.last
    else {
      throw CairnError(
        .illegalArgument, "the address of a CouchDB database looks like https://host:6984/database")
    }
    if isPlain, !address.isLoopback {
      throw CairnError(
        .illegalArgument,
        "http:// would send passwords and documents in the clear; only this "
          + "machine itself is reached that way. Use https://")
    }
    origin = address.scheme + "://" + address.authority(isEncrypted: !isPlain)
    prefix = address.path.dropLast().map { $0.replacing(CouchAddress.slash, with: "/") }
    database = last.replacing(CouchAddress.slash, with: "/")
  }

  /// As it is kept.
  var text: String { origin + path() }

  /// The path of something in the database.
  func path(_ names: String...) -> String {
    (prefix + [database] + names).map { "/" + PercentCoding.encode($0) }.joined()
  }

  /// The path of something of the server.
  func serverPath(_ name: String) -> String {
    (prefix + [name]).map { "/" + PercentCoding.encode($0) }.joined()
  }
}
