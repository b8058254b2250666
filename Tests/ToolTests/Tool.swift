import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The built command line, run as a process of its own.
enum Tool {
  struct Outcome {
    /// What it exited with, or minus the signal that ended it.
    var status: Int32
    var output: String
    var errors: String
  }

  /// Programs are built into the same directory as the tests.
  static let directory: String = {
    for argument in CommandLine.arguments {
      guard let bundle = argument.range(of: "cairnPackageTests.xctest") else { continue }
      return String(argument[..<bundle.lowerBound])
    }
    return ".build/debug/"
  }()

  static func run(
    _ arguments: [String], input: String = "/dev/null", program: String = "cairn"
  ) throws -> Outcome {
    let path = directory + program
    let scratch = try Scratch()
    let (output, errors) = (scratch.path("output"), scratch.path("errors"))
    var words: [UnsafeMutablePointer<CChar>?] = unsafe ([path] + arguments).map {
      unsafe strdup($0)
    }
    unsafe words.append(nil)
    defer { while let word = unsafe words.popLast() { unsafe free(word) } }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    let new = O_WRONLY | O_CREAT
    let streams = [(0, input, O_RDONLY), (1, output, new), (2, errors, new)]
    for (descriptor, file, flags) in streams {
      unsafe posix_spawn_file_actions_addopen(&actions, Int32(descriptor), file, flags, 0o600)
    }
    var process = pid_t()
    let code = unsafe posix_spawn(&process, path, &actions, nil, words, environ)
    guard code == 0 else { throw NotStarted(path: path, code: code) }
    var raw: Int32 = 0
    while unsafe waitpid(process, &raw, 0) == -1 && errno == EINTR {}
    let signal = raw & 0x7F
    return Outcome(
      status: signal == 0 ? (raw >> 8) & 0xFF : -signal,
      output: try scratch.text("output"), errors: try scratch.text("errors"))
  }

  struct NotStarted: Error {
    var path: String
    var code: Int32
  }
}
