/// Everything the store asks of a file system, and nothing more.
///
/// Names become durable separately from bytes: a file that was created, renamed or removed is only
/// certain to be so after a power cut once `syncDirectory` of its directory has returned, however
/// often the file itself was synced.
package protocol Disk: Sendable {
  /// Opens a regular file. Links, pipes, devices and directories fail with `notRegular`, at once.
  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile

  /// Makes a directory and the parents it lacks, and makes them durable. Fine if it is there.
  func createDirectory(_ path: String) throws(DiskError)

  /// The same for a directory of secrets: if it is made, nobody but the user may look into it.
  func createPrivateDirectory(_ path: String) throws(DiskError)

  /// What is in a directory, sorted by the bytes of the names, without "." and "..".
  ///
  /// A name that is not UTF-8 is shown repaired, so opening it by that name fails with `notFound`.
  func list(_ directory: String) throws(DiskError) -> [DirectoryEntry]

  /// The same for names that are wanted: what the others stand for is not asked for, so that one
  /// of which the system says nothing is in nobody's way.
  func list(_ directory: String, only isWanted: (String) -> Bool) throws(DiskError)
    -> [DirectoryEntry]

  /// The same as an object: `last` itself if it has all that is there now. Names of which the
  /// system does not say what they stand for are told apart; fails if that is so of all.
  func list(_ directory: String, after last: DirectoryListing?) throws(DiskError)
    -> DirectoryListing

  /// Whether a directory has the names that it had then, and those entries of `last` whose places
  /// are named are as they were: a look that costs no more than these. False also where that can't
  /// be told.
  func isUnchanged(_ directory: String, since last: DirectoryListing, at places: [Int])
    throws(DiskError) -> Bool

  /// What is at a path, without following a link there; nil if there is nothing.
  func info(_ path: String) throws(DiskError) -> FileInfo?

  /// Gives a file or directory a new name, replacing a file of that name in one step.
  func rename(_ from: String, to: String) throws(DiskError)

  /// Removes a file or a link, not a directory. Fails with `notFound` if there is none.
  func remove(_ path: String) throws(DiskError)

  /// Removes a directory and all in it, or a single file. Links are removed, never followed.
  /// Fine if there is nothing.
  func removeTree(_ path: String) throws(DiskError)

  /// Makes the names in a directory durable: what was created, renamed and removed there.
  func syncDirectory(_ path: String) throws(DiskError)

  /// Takes an exclusive lock on a file, which is made if need be and then holds the process id.
  /// Fails with `locked`, without waiting, if this or another process has it.
  func lock(_ path: String) throws(DiskError) -> any DiskLock

  /// Who has the lock of a file, in words; nil if nobody has. Changes nothing and makes no file.
  func lockHolder(_ path: String) throws(DiskError) -> String?

  /// Whether this process may write at a path that is there.
  func isWritable(_ path: String) -> Bool

  /// Bytes that this process may still write below a path; nil where that can't be told.
  func freeBytes(_ path: String) throws(DiskError) -> UInt64?
}

/// What a disk need not be able to tell.
extension Disk {
  package func list(
    _ directory: String, only isWanted: (String) -> Bool
  ) throws(DiskError) -> [DirectoryEntry] {
    try list(directory).filter { isWanted($0.name) }
  }

  package func list(
    _ directory: String, after last: DirectoryListing?
  ) throws(DiskError) -> DirectoryListing {
    let entries = try list(directory)
    if let last, last.entries == entries { return last }
    return DirectoryListing(entries)
  }

  package func isUnchanged(
    _ directory: String, since last: DirectoryListing, at places: [Int]
  ) throws(DiskError) -> Bool {
    let now = try list(directory)
    guard now.count == last.entries.count,
      zip(now, last.entries).allSatisfy({ $0.name == $1.name })
    else { return false }
    return places.allSatisfy { now[$0].info == last.entries[$0].info }
  }

  package func lockHolder(_ path: String) throws(DiskError) -> String? { nil }
  package func isWritable(_ path: String) -> Bool { true }
  package func freeBytes(_ path: String) throws(DiskError) -> UInt64? { nil }
}
