import Testing

@testable import CairnDisk

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Times of files, of which a disk may say anything.
struct FileInfoTests {
  @Test(arguments: [
    (0, 1_999_999, 1), (-1, 0, -1000), (Int.max, 0, Int64.max), (Int.min, 0, Int64.min),
    (Int.max / 1000, 999_000_000, Int64.max), (Int.max / 1000, 0, Int64.max / 1000 * 1000),
  ]) func `a time beyond all is the last`(seconds: Int, nanoseconds: Int, time: Int64) {
    let found = FileInfo.milliseconds(timespec(tv_sec: seconds, tv_nsec: nanoseconds))
    #expect(found == time)
  }
}
