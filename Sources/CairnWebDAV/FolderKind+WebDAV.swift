public import Cairn
package import CairnDisk
internal import CairnHTTP

extension FolderKind {
  /// Folders on WebDAV servers: addresses `webdav+https://host/path`, and `webdav+http://` of this
  /// machine itself.
  ///
  /// Made once and used for all folders of an app, they share their connections and the budget.
  public static func webDAV(_ settings: ServerSettings = ServerSettings()) -> FolderKind {
    webDAV(settings, machine: .real)
  }

  /// On a computer of which the clock and the random numbers are these.
  package static func webDAV(_ settings: ServerSettings, machine: Machine) -> FolderKind {
    let connections = HTTPConnections(settings)
    let ledger = BudgetLedger(clock: machine.clock)
    return FolderKind(schemes: WebDAVAddress.schemes) {
      (address, credentials) throws(CairnError) in
      WebDAVFolder(
        try WebDAVAddress(address),
        HTTPSession(
          connections, settings, credentials: credentials, authorizer: PlainAuthorizer(),
          ledger: ledger, machine: machine))
    }
  }
}

extension FolderLocation {
  /// A folder on a WebDAV server.
  ///
  /// - Parameter address: `https://host/path`, or `webdav+https://host/path`. Plain http is for
  ///   this machine itself only. Never a password in it: see `ServerSettings.credentials`.
  public static func webDAV(
    _ address: String, _ settings: ServerSettings = ServerSettings()
  ) -> FolderLocation {
    let full = address.hasPrefix("http") ? "webdav+" + address : address
    return .server(ServerFolder(full, kind: .webDAV(settings)))
  }
}
