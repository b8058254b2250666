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
  /// A directory that something else carries to the user's other devices: Dropbox, Syncthing,
  /// iCloud Drive, a network mount. Never the directory of the datastores themselves.
  case directory(String)
}
