/// A place where the devices of an account meet: files by path, nothing more. Paths are one or two
/// names, joined by "/". Those of files that are written are of `[a-z0-9._-]`. What others put
/// there, sync engines and people, may be called anything: it is listed, read and removed by the
/// name that it has, or not listed if the place can't say that name.
///
/// Nothing is asked of it but that a file which was written can sooner or later be listed and read
/// by others. Listings may be stale, files late, partial or gone: everything that is read is
/// checked. A call is one request where that can be; one that is made again does no harm.
///
/// Calls may block: they are made on threads that are there for folders alone, at most 16 in all. A
/// folder that is an actor may be run there whoever calls it, so that all that is asked of it waits
/// while these threads are blocked: keep out of it what must not wait for folders.
public protocol Folder: Sendable {
  /// The files in a directory (not those in directories below it); empty if there is none.
  func list(_ directory: String) async throws(CairnError) -> [FolderEntry]

  /// A whole file, nil if it is not there. One of more than `limit` bytes is a `corrupt` or a
  /// `fileIO`, one of more than the folder can give in one piece a `sizeLimit`: each is a problem
  /// of this file, and the others are gone on with.
  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]?

  /// Puts a whole file in place, so that no reader of this folder sees a part of it if the folder
  /// can do that, and returns what it looks like now. Replaces a file of that name.
  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry

  /// Removes a file; one that is not there is removed already.
  func remove(_ path: String) async throws(CairnError)

  /// Calls `body` with the bytes of a file from a place on, piece by piece, none of which is empty;
  /// false if it is not there. For files of any size: what `body` has is never read again, and what
  /// it throws ends the reading and is thrown. A folder that has nothing of its own for that reads
  /// them whole, and only up to 1 GiB. One that is too large for the folder is a `sizeLimit`: a
  /// snapshot is not asked for again then, and all deltas are fetched instead. So they are after
  /// other errors that tell nothing of the connection; but it is asked for again, ever more seldom,
  /// and in each round after `fileIO` and `corrupt`.
  func read(
    _ path: String, from offset: UInt64, _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool

  /// The same as `write(_:_:)`, for a file of any size, which is read where it lies. If the source
  /// throws, nothing must be left of the file. A folder that has nothing of its own for that writes
  /// it whole, and only up to 1 GiB: a larger one is a `sizeLimit`. A snapshot that is too large is
  /// not published then (the report says so), and new devices fetch all deltas instead.
  func write(
    _ path: String, from source: any FolderSource
  ) async throws(CairnError) -> FolderEntry

  /// The same folder for somebody who never writes there: nothing that goes with looking around,
  /// such as removing what others have left half written, changes a file. A folder that wraps
  /// another one has to wrap that one's `forReading()`: a `DirectoryFolder`, for one, sweeps what
  /// was left half written when it is listed.
  func forReading() -> any Folder

  /// What went over the network since it was made; nil if nothing does.
  var traffic: FolderTraffic? { get }

  /// From now on calls `tell` with true when nothing of a request has moved for too long, so that
  /// it is made again, and with false when there is an answer after that. On no particular thread.
  func onStall(_ tell: @escaping @Sendable (_ isStalled: Bool) -> Void)
}

/// What a folder need not be able to do.
extension Folder {
  /// Reads the whole file, and gives it out in pieces.
  public func read(
    _ path: String, from offset: UInt64, _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool {
    guard let bytes = try await read(path, limit: FolderLimits.wholeBytesMax) else { return false }
    var place = Int(clamping: offset)
    while place < bytes.count {
      let end = min(bytes.count, place + (256 << 10))
      try body([UInt8](bytes[place..<end]))
      place = end
    }
    return true
  }

  /// Takes the whole file into memory, and writes it.
  public func write(
    _ path: String, from source: any FolderSource
  ) async throws(CairnError) -> FolderEntry {
    guard source.size <= UInt64(FolderLimits.wholeBytesMax) else {
      throw CairnError(
        .sizeLimit, "\(path) has more than the 1 GiB that this folder can write: it has no way to "
          + "write in pieces (Folder.write(_:from:))", file: path)
    }
    return try await write(path, try source.read(0..<source.size))
  }

  /// The folder itself, which is right for all that change nothing unless they are told to.
  public func forReading() -> any Folder { self }

  /// Nothing.
  public var traffic: FolderTraffic? { nil }

  /// Never calls it.
  public func onStall(_ tell: @escaping @Sendable (_ isStalled: Bool) -> Void) {}
}

enum FolderLimits {
  /// Files above this are read and written piece by piece or not at all.
  static let wholeBytesMax = 1 << 30
}

/// A file at home that is to be written to a folder. Parts may be read in any order and more than
/// once: what did not arrive is sent again.
public protocol FolderSource: Sendable {
  /// All its bytes.
  var size: UInt64 { get }

  /// A part of it, exactly.
  func read(_ range: Range<UInt64>) throws(CairnError) -> [UInt8]
}

/// A file in a folder's listing.
public struct FolderEntry: Hashable, Sendable {
  /// Its name, without the directory.
  public var name: String
  /// Its length in bytes.
  public var size: UInt64
  /// Anything that changes when the file does: a hint for what to read again, never trusted.
  public var version: String
  /// Whether the content can be read now. False for placeholders that something has yet to fetch:
  /// those are waited for. A `DirectoryFolder` says so of the placeholders of iCloud Drive that
  /// have names of their own (`.name.icloud`). Those of other cloud drives, and of newer systems,
  /// look like the file: reading one makes the drive fetch it, and waits for that, or fails.
  public var isPresent: Bool

  /// An entry of a listing.
  public init(name: String, size: UInt64, version: String, isPresent: Bool = true) {
    self.name = name
    self.size = size
    self.version = version
    self.isPresent = isPresent
  }

  /// Whether it is a file of so many bytes, as far as the listing tells: a placeholder has a size
  /// of its own. Who asks what the folder has lost asks this; who reads, whether it is present.
  package func mayBe(size: UInt64) -> Bool { !isPresent || self.size == size }
}
