#if canImport(Glibc)
  internal import Glibc

  /// Says that something changed in a directory (not below it), some milliseconds after it did.
  ///
  /// A hint and no more: it knows nothing of what another computer does on a network file system,
  /// and once the directory is removed it says that, and nothing more. Whoever relies on changes
  /// polls as well.
  package final class DirectoryWatcher: Sendable {
    private let watch: Watch

    /// Starts watching. `onChange` is called on a thread of the watcher's own, once for a burst of
    /// changes, never twice at a time. Nil where the system can't watch.
    package init?(directory: String, onChange: @escaping @Sendable () -> Void) {
      guard let watch = Watch(directory, onChange), watch.start() else { return nil }
      self.watch = watch
    }

    deinit { watch.stop() }

    /// Whether the directory was removed or renamed, or went with its disk, or may have: a new
    /// watcher sees what is there now. The call that tells of it comes after this.
    package var isEnded: Bool { watch.isEnded }

    /// Ends the watching. No call begins after this; one that has begun may still be running.
    package func stop() { watch.stop() }
  }
#endif
