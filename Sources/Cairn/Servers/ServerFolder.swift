/// A folder on a server. Two of them are the same if their addresses are.
public struct ServerFolder: Hashable, Sendable {
  /// Where it is: `webdav+https://host/path`, `s3://bucket/prefix?endpoint=https://host`. Never a
  /// password in it: the address is kept in files.
  public let address: String
  /// What opens it; nil: one of `Options.folderKinds`.
  let kind: FolderKind?

  /// The folder at an address.
  ///
  /// - Parameters:
  ///   - address: Where it is.
  ///   - kind: What opens it; if nil, one of `Options.folderKinds`.
  public init(_ address: String, kind: FolderKind? = nil) {
    self.address = address
    self.kind = kind
  }

  public static func == (a: ServerFolder, b: ServerFolder) -> Bool { a.address == b.address }
  public func hash(into hasher: inout Hasher) { hasher.combine(address) }
}

extension ServerFolder {
  /// Makes folders of this address, one for each datastore.
  ///
  /// - Throws: `illegalArgument` if nothing understands the address.
  func opener(
    _ kinds: [FolderKind], _ credentials: CredentialSource? = nil
  ) throws(CairnError) -> @Sendable () -> any Folder {
    let parsed = try ServerAddress(address)
    guard let kind = kind ?? kinds.first(where: { $0.understands(parsed) }) else {
      throw CairnError(
        .illegalArgument,
        "nothing here opens a folder at \(parsed.scheme)://; give Options.folderKinds that does "
          + "(.webDAV() of CairnWebDAV, .s3() of CairnS3)")
    }
    // What is wrong with the address is said now, not at the first exchange.
    _ = try kind.open(address, credentials: credentials)
    return { [address] in
      do throws(CairnError) { return try kind.open(address, credentials: credentials) } catch {
        return UnreachableFolder(error: error)
      }
    }
  }
}

/// A folder that could not be opened: every request says why.
struct UnreachableFolder: Folder {
  let error: CairnError

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] { throw error }
  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? { throw error }
  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    throw error
  }
  func remove(_ path: String) async throws(CairnError) { throw error }
}
