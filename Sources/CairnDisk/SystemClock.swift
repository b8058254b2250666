#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The computer's clock.
package struct SystemClock: WallClock {
  package init() {}

  package func now() -> Int64 {
    var time = timespec()
    // Can't fail for this clock.
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return FileInfo.milliseconds(time)
  }
}
