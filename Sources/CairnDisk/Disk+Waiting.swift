#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

extension Disk {
  /// Takes a lock that others hold for moments only. Looks again and again, less and less often,
  /// for about ten seconds if not told otherwise; the thread sleeps in between.
  package func lockWaiting(
    _ path: String, pauses: Int = 220
  ) throws(DiskError) -> any DiskLock {
    var pause: UInt32 = 500
    for _ in 0..<pauses {
      do { return try lock(path) } catch {
        if error.reason != .locked { throw error }
      }
      usleep(pause)
      pause = min(pause * 2, 50_000)
    }
    return try lock(path)
  }
}
