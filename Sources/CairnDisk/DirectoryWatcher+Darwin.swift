#if canImport(Darwin)
  /// Not available: whoever asks gets nil, and polls.
  package final class DirectoryWatcher: Sendable {
    package init?(directory: String, onChange: @escaping @Sendable () -> Void) {
      return nil
    }

    package func stop() {}
  }
#endif
