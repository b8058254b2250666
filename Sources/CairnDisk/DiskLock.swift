/// An exclusive lock on a file; it ends with `unlock`, with the last reference, or with the
/// process.
package protocol DiskLock: AnyObject, Sendable {
  /// Gives the lock back. Doing so twice is fine.
  func unlock()
}
