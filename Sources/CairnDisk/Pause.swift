#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Waiting for another process, which can't wake us.
package enum Pause {
  /// About a millisecond.
  package static func brief() { usleep(1000) }
}
