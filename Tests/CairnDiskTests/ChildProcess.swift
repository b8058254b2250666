#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Another program, started by a test and ended by it.
final class ChildProcess {
  private let process: pid_t
  private var status: Int32?

  /// Starts a program by its path; its output goes nowhere.
  init(_ arguments: [String]) throws {
    var words: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
    unsafe words.append(nil)
    defer { while let word = unsafe words.popLast() { unsafe free(word) } }
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = unsafe posix_spawn_file_actions_t()
    #endif
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for descriptor: Int32 in 0...2 {
      unsafe posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    var process = pid_t()
    let code = unsafe posix_spawn(&process, arguments[0], &actions, nil, words, nil)
    guard code == 0 else { throw Failure(code: code) }
    self.process = process
  }

  deinit { kill() }

  struct Failure: Error {
    var code: Int32
  }

  var id: Int32 { process }

  /// Waits for its end; the code it exited with, or -1 if it was killed.
  @discardableResult
  func wait() -> Int32 {
    if let status { return status }
    var raw: Int32 = 0
    while unsafe waitpid(process, &raw, 0) == -1 && errno == EINTR {}
    let code = raw & 0x7F == 0 ? (raw >> 8) & 0xFF : -1
    status = code
    return code
  }

  func kill() {
    if status != nil { return }
    _ = signal(process)
    wait()
  }

  private func signal(_ process: pid_t) -> Int32 {
    #if canImport(Darwin)
      Darwin.kill(process, SIGKILL)
    #else
      Glibc.kill(process, SIGKILL)
    #endif
  }

  /// The code that a program exits with.
  static func run(_ arguments: String...) throws -> Int32 {
    try ChildProcess(arguments).wait()
  }
}
