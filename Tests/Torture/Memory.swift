#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What this process takes.
enum Memory {
  /// The most that it has ever had at once, in MiB.
  static var peak: Int {
    var usage = rusage()
    #if canImport(Darwin)
      unsafe getrusage(RUSAGE_SELF, &usage)
      return usage.ru_maxrss >> 20
    #else
      unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
      return usage.ru_maxrss >> 10
    #endif
  }
}
