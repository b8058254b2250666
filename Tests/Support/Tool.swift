internal import CairnDisk

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The built command line, or an example, run as a process of its own.
package enum Tool {
  package struct Outcome: Sendable {
    /// What it exited with, or minus the signal that ended it.
    package var status: Int32
    package var output: String
    package var errors: String
  }

  /// Programs are built into the same directory as the tests.
  package static let directory: String = {
    for argument in CommandLine.arguments {
      let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
      guard let bundle = parts.firstIndex(of: "cairnPackageTests.xctest") else { continue }
      return parts[..<bundle].map { $0 + "/" }.joined()
    }
    return ".build/debug/"
  }()

  /// - Parameters:
  ///   - program: Its name there, or the path of another one.
  ///   - environment: All that it has; nil: that of the tests.
  package static func run(
    _ arguments: [String], input: String = "/dev/null", program: String = "cairn",
    environment: [String: String]? = nil
  ) throws -> Outcome {
    let scratch = try TemporaryDirectory()
    let (output, errors) = (scratch.path("output"), scratch.path("errors"))
    let process = try start(
      arguments, input: input, output: output, errors: errors, program: program,
      environment: environment)
    return Outcome(
      status: wait(for: process), output: try text(output), errors: try text(errors))
  }

  /// The same for one that is not waited for; what it prints goes to files.
  package static func start(
    _ arguments: [String], input: String = "/dev/null", output: String, errors: String,
    program: String = "cairn", environment: [String: String]? = nil
  ) throws -> Int32 {
    try Spawn.start(
      program.hasPrefix("/") ? program : directory + program, arguments,
      streams: [.input(input), .output(output), .output(errors, isError: true)],
      environment: environment.map { settings in
        settings.sorted { $0.key < $1.key }.map { $0.key + "=" + $0.value }
      })
  }

  /// What it exits with, or minus the signal that ends it.
  package static func wait(for process: Int32) -> Int32 {
    var raw: Int32 = 0
    while unsafe waitpid(process, &raw, 0) == -1 && errno == EINTR {}
    let signal = raw & 0x7F
    return signal == 0 ? (raw >> 8) & 0xFF : -signal
  }

  /// What it ends with once it was asked to end.
  package static func interrupt(_ process: Int32) -> Int32 {
    kill(process, SIGTERM)
    return wait(for: process)
  }

  private static func text(_ path: String) throws -> String {
    let file = try PosixDisk().open(path, .read)
    defer { file.close() }
    return String(decoding: try file.read(at: 0, count: Int(try file.size())), as: UTF8.self)
  }
}
