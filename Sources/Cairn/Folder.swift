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

  /// Calls `body` with the bytes of a file from a place on, piece by piece; false if it is not
  /// there. For files of any size; a folder that has nothing of its own for that reads them whole,
  /// and only up to 1 GiB.
  func read(
    _ path: String, from offset: UInt64, _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool

  /// The same as `write`, for a file of any size, whose bytes come from `next` piece by piece,
  /// until that returns nil. If `next` throws, nothing must be left of the file. A folder that has
  /// nothing of its own for that writes it whole.
  func write(
    _ path: String, length: UInt64, _ next: () throws(CairnError) -> [UInt8]?
  ) async throws(CairnError) -> FolderEntry
}

/// What a folder need not have for itself.
extension Folder {
  /// Reads the whole file, and gives it out in pieces.
  public func read(
    _ path: String, from offset: UInt64, _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool {
    guard let bytes = try await read(path, limit: 1 << 30) else { return false }
    var place = Int(clamping: offset)
    while place < bytes.count {
      let end = min(bytes.count, place + (256 << 10))
      try body([UInt8](bytes[place..<end]))
      place = end
    }
    return true
  }

  /// Puts the pieces together, and writes the whole file.
  public func write(
    _ path: String, length: UInt64, _ next: () throws(CairnError) -> [UInt8]?
  ) async throws(CairnError) -> FolderEntry {
    var bytes: [UInt8] = []
    while let piece = try next() { bytes += piece }
    return try await write(path, bytes)
  }
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
