/// An exclusive lock on a file; it ends with `unlock`, with the last reference, or with the
/// process.
package protocol DiskLock: AnyObject, Sendable {
  /// Gives the lock back. Doing so twice is fine.
  func unlock()

  /// Whether it is this process that took it: what a forked child has is its parent's.
  var isOwn: Bool { get }

  /// Whether the file is still where it was when it was locked. Looks at the disk.
  var isInPlace: Bool { get }
}

/// What a disk need not be able to tell.
extension DiskLock {
  package var isOwn: Bool { true }
  package var isInPlace: Bool { true }
}
