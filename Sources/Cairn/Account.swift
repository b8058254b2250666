internal import CairnDisk

/// A folder in which the user's devices meet, and who the user is in it.
public struct Account: Hashable, Sendable {
  /// Any name that the app knows the user by. It is written into this device's files in the folder.
  public var user: String
  /// Where the user's devices meet.
  public var folder: FolderLocation

  /// An account of a user in a folder.
  public init(user: String, folder: FolderLocation) {
    self.user = user
    self.folder = folder
  }
}

/// Where a shared folder is.
@nonexhaustive
public enum FolderLocation: Hashable, Sendable {
  /// A directory that something else carries to the user's other devices: Syncthing, a cloud
  /// drive, a network mount (the README says which were tested). Never the directory of the
  /// datastores themselves.
  case directory(String)
  /// A folder on a server. `.webDAV(…)` of CairnWebDAV and `.s3(…)` of CairnS3 make one; by its
  /// address alone it is opened by one of `Options.folderKinds`.
  case server(ServerFolder)
}

extension FolderLocation {
  /// As it is shown, and typed: a path or an address.
  var text: String {
    switch self {
    case .directory(let path): path
    case .server(let folder): folder.address
    }
  }

  /// Makes folders of this place, one for each datastore.
  ///
  /// - Throws: `illegalArgument` for an address that nothing understands.
  func opener(
    _ kinds: [FolderKind], machine: Machine, credentials: CredentialSource? = nil
  ) throws(CairnError) -> @Sendable () -> any Folder {
    switch self {
    case .directory(let path): { DirectoryFolder(path, machine: machine) }
    case .server(let folder): try folder.opener(kinds, credentials)
    }
  }
}
