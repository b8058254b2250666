#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Says what was being read when the process is about to end by a signal: a trap has no error that
/// could be caught, and a hang has no end. Nothing in the handler allocates or locks.
enum Culprit {
  /// File number, kind of mutation, its first number; written before each reading.
  private nonisolated(unsafe) static let place = UnsafeMutablePointer<Int>.allocate(capacity: 3)
  private nonisolated(unsafe) static var path = unsafe strdup("")

  /// Seconds that reading one file a few thousand times may take at most.
  private static let patience: UInt32 = 60

  static func install() {
    unsafe place.initialize(repeating: 0, count: 3)
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGALRM] {
      signal(number) { Culprit.tell($0) }
    }
  }

  /// The file that is spoilt from here on. Also says that there is progress.
  static func begin(_ file: String) {
    unsafe free(path)
    unsafe path = strdup(file)
    alarm(patience)
  }

  static func progress() { alarm(patience) }

  @inline(__always)
  static func note(_ mutation: Mutation) {
    let code = mutation.code
    unsafe place[1] = code.kind
    unsafe place[2] = code.first
  }

  static func end() { alarm(0) }

  private static func tell(_ signal: Int32) {
    say("\ncairn-torture: signal ")
    say(Int(signal))
    say(" while reading ")
    if let path = unsafe path { unsafe write(path, strlen(path)) }
    say(": mutation ")
    unsafe say(place[1])
    say(" at ")
    unsafe say(place[2])
    say(" (0 is a flipped bit, counted from the file's first)\n")
    _exit(1)
  }

  private static func say(_ text: StaticString) {
    unsafe write(text.utf8Start, text.utf8CodeUnitCount)
  }

  private static func write(_ bytes: UnsafeRawPointer?, _ count: Int) {
    #if canImport(Darwin)
      _ = unsafe Darwin.write(2, bytes, count)
    #else
      _ = unsafe Glibc.write(2, bytes, count)
    #endif
  }

  private static func say(_ number: Int) {
    if number >= 10 { say(number / 10) }
    var digit = UInt8(48 + number % 10)
    unsafe write(&digit, 1)
  }
}
