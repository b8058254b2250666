/// A place where the devices of an account meet: files by path, nothing more. Paths are one or two
/// names of `[a-z0-9._-]`, joined by "/".
///
/// Nothing is asked of it but that a file which was written can sooner or later be listed and read
/// by others. Listings may be stale, files late, partial or gone: everything that is read is
/// checked. Each call is one request.
public protocol Folder: Sendable {
  /// The files in a directory (not those in directories below it); empty if there is none.
  func list(_ directory: String) async throws(CairnError) -> [FolderEntry]

  /// A whole file, nil if it is not there. One of more than `limit` bytes is an error.
  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]?

  /// Puts a whole file in place, so that no reader of this folder sees a part of it if the folder
  /// can do that, and returns what it looks like now. Replaces a file of that name.
  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry

  /// Removes a file; one that is not there is removed already.
  func remove(_ path: String) async throws(CairnError)
}

/// A file in a folder's listing.
public struct FolderEntry: Hashable, Sendable {
  /// Its name, without the directory.
  public var name: String
  /// Its length in bytes.
  public var size: UInt64
  /// Anything that changes when the file does: a hint for what to read again, never trusted.
  public var version: String
  /// Whether the content can be read now. False for placeholders that something has yet to fetch.
  public var isPresent: Bool

  /// An entry of a listing.
  public init(name: String, size: UInt64, version: String, isPresent: Bool = true) {
    self.name = name
    self.size = size
    self.version = version
    self.isPresent = isPresent
  }
}
