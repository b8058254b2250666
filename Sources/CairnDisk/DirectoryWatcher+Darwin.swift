#if canImport(Darwin)
  /// Not available: whoever asks gets nil, and polls.
  package final class DirectoryWatcher: Sendable {
    package init?(directory: String, onChange: @escaping @Sendable () -> Void) {
      return nil
    }

    package var isEnded: Bool { false }

    package func stop() {}
  }
#endif
