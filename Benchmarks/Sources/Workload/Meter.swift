import Glibc

/// What this process has used so far.
public enum Meter {
  /// Seconds of a monotonic clock.
  public static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }

  /// The seconds that `work` takes.
  public static func seconds<E: Error>(_ work: () throws(E) -> Void) throws(E) -> Double {
    let start = now()
    try work()
    return now() - start
  }

  public static func sleep(_ seconds: Double) { usleep(UInt32(seconds * 1e6)) }

  /// Bytes given to write calls.
  public static var written: Double { counter("/proc/self/io", "wchar:") }
  public static var readFromDisk: Double { counter("/proc/self/io", "read_bytes:") }
  /// Bytes of RAM at the highest point.
  public static var peakMemory: Double { counter("/proc/self/status", "VmHWM:") * 1024 }
  /// Bytes of RAM now.
  public static var memory: Double { counter("/proc/self/status", "VmRSS:") * 1024 }

  private static func counter(_ path: String, _ key: String) -> Double {
    guard let file = fopen(path, "r") else { return .nan }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
      if strncmp(line, key, key.utf8.count) == 0 {
        return line.withUnsafeBufferPointer { atof($0.baseAddress! + key.utf8.count) }
      }
    }
    return .nan
  }
}
