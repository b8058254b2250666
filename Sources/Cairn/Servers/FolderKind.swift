/// A kind of folder on a server: which addresses it understands, and how it opens them.
///
/// `CairnWebDAV` and `CairnS3` bring one each (`.webDAV()`, `.s3()`); an app may write its own.
public struct FolderKind: Sendable {
  /// How its addresses begin, in lower case: `["webdav+https", "webdav+http"]`.
  public let schemes: [String]
  private let opening:
    @Sendable (_ address: String, _ credentials: CredentialSource?) throws(CairnError) -> any Folder

  /// A kind.
  ///
  /// - Parameters:
  ///   - schemes: How its addresses begin, in lower case.
  ///   - open: Makes the folder at an address, without asking the server anything. The credentials
  ///     are those that belong to the account, if it has any; a kind may know others.
  public init(
    schemes: [String],
    open: @escaping @Sendable (
      _ address: String, _ credentials: CredentialSource?
    ) throws(CairnError) -> any Folder
  ) {
    self.schemes = schemes
    opening = open
  }

  /// The folder at an address. Asks the server nothing.
  ///
  /// - Throws: `illegalArgument` for an address that it does not understand; what is wrong with its
  ///   settings.
  public func open(
    _ address: String, credentials: CredentialSource? = nil
  ) throws(CairnError) -> any Folder {
    try opening(address, credentials)
  }

  func understands(_ address: ServerAddress) -> Bool { schemes.contains(address.scheme) }
}
