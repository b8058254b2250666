public import Cairn
package import CairnDisk
internal import CairnHTTP

extension FolderKind {
  /// Folders in S3 buckets: addresses
  /// `s3://bucket/prefix?endpoint=https://host&region=eu-central-1&style=path`.
  ///
  /// Without `endpoint` it is Amazon's. `region` is `us-east-1` if nothing else is said. `style` is
  /// `path` (`https://host/bucket/…`) or `host` (`https://bucket.host/…`): `host` for Amazon, but
  /// not for a bucket with a dot in its name, for which there is no certificate; else `path`. Made
  /// once and used for all folders of an app, they share connections and budget.
  public static func s3(_ settings: ServerSettings = ServerSettings()) -> FolderKind {
    s3(settings, machine: .real)
  }

  /// On a computer of which the clock and the random numbers are these.
  package static func s3(_ settings: ServerSettings, machine: Machine) -> FolderKind {
    let connections = HTTPConnections(settings)
    let ledger = BudgetLedger(clock: machine.clock)
    return FolderKind(schemes: [S3Address.scheme]) { (address, credentials) throws(CairnError) in
      let address = try S3Address(address)
      return S3Folder(
        address,
        HTTPSession(
          connections, settings, credentials: credentials,
          authorizer: S3Authorizer(region: address.region), ledger: ledger, machine: machine))
    }
  }
}

extension FolderLocation {
  /// A folder in an S3 bucket.
  ///
  /// - Parameter address: `s3://bucket/prefix?endpoint=https://host&region=…`; see
  ///   `FolderKind.s3`. Never a key in it: see `ServerSettings.credentials`.
  public static func s3(
    _ address: String, _ settings: ServerSettings = ServerSettings()
  ) -> FolderLocation {
    .server(ServerFolder(address, kind: .s3(settings)))
  }
}
