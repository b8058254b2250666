import CairnDisk
import Synchronization
import TestSupport

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A program that this one started. What it prints goes to a file, so that it is there whole after
/// a kill.
final class Child: Sendable {
  enum Ending: Equatable {
    case exited(Int32)
    case signalled(Int32)
  }

  let pid: pid_t
  /// Where its standard output and its errors go.
  let output: String
  private let ending = Lock<Ending?>(nil)

  /// - Parameter environment: `NAME=value`, besides this process's own.
  init(
    _ program: String, _ arguments: [String], output: String, environment: [String] = []
  ) throws(TortureFailure) {
    do throws(Spawn.NotStarted) {
      pid = try Spawn.start(
        program, arguments,
        streams: [.input(), .output(output), .output(output + ".errors", isError: true)],
        environment: Spawn.environment(adding: environment))
    } catch { throw TortureFailure("could not start \(program): errno \(error.code)") }
    self.output = output
    Leftovers.started(pid)
  }

  /// This very program.
  static let own: String = {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
    guard count > 0 else { return CommandLine.arguments[0] }
    return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }()

  func signal(_ number: Int32) { if ending.withLock({ $0 == nil }) { Glibc.kill(pid, number) } }

  /// Ends it as a power button would, and waits for its end.
  @discardableResult
  func kill() throws(TortureFailure) -> Ending {
    signal(SIGKILL)
    return try wait()
  }

  /// Stops all of its threads. False if it ended before.
  func stop() -> Bool {
    signal(SIGSTOP)
    guard ending.withLock({ $0 == nil }) else { return false }
    var status: Int32 = 0
    while unsafe waitpid(pid, &status, WUNTRACED) < 0, errno == EINTR {}
    if status & 0xFF == 0x7F { return true }
    note(status)
    return false
  }

  /// Whether it has ended by now.
  var hasEnded: Bool {
    if ending.withLock({ $0 != nil }) { return true }
    var status: Int32 = 0
    guard unsafe waitpid(pid, &status, WNOHANG) == pid else { return false }
    note(status)
    return true
  }

  /// Waits for its end. One that takes longer than so many seconds hangs, which is a failure of its
  /// own: it is taken away with all that it started, and never looks like one that was killed.
  @discardableResult
  func wait(seconds: Double = 120) throws(TortureFailure) -> Ending {
    try wait(until: "its end", seconds: seconds) { false }
    return ending.withLock { $0 } ?? .exited(-1)
  }

  /// Waits until something is so, or it has ended.
  func wait(
    until what: String, seconds: Double = 40, _ isSo: () -> Bool
  ) throws(TortureFailure) {
    let start = ContinuousClock.now
    var pause: UInt32 = 50
    while !hasEnded, !isSo() {
      usleep(pause)
      pause = min(pause * 2, 2000)
      guard ContinuousClock.now - start > .seconds(seconds), !hasEnded else { continue }
      let failure = TortureFailure(
        "hung: after \(Int(seconds)) s of waiting for \(what): \(Processes.activity(pid)); it "
          + "said \(text.suffix(400)) \(errors.suffix(400))")
      // The programs that a tracer traces outlive it.
      for process in Processes.tree(pid).reversed() { Glibc.kill(process, SIGKILL) }
      var status: Int32 = 0
      while unsafe waitpid(pid, &status, 0) < 0, errno == EINTR {}
      note(status)
      throw failure
    }
  }

  private func note(_ status: Int32) {
    let low = status & 0x7F
    ending.withLock { $0 = low == 0 ? .exited((status >> 8) & 0xFF) : .signalled(low) }
    Leftovers.ended(pid)
  }

  /// What it printed so far.
  var text: String { TextFile.read(output) }
  /// Its errors so far.
  var errors: String { TextFile.read(output + ".errors") }
}

/// Programs of the system.
enum Command {
  /// Whether there is one in PATH, or in the directories of the administrator.
  static func isThere(_ name: String) -> Bool {
    let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? ""
    return (path.split(separator: ":").map(String.init) + ["/usr/sbin", "/sbin"]).contains {
      unsafe access($0 + "/" + name, X_OK) == 0
    }
  }

  /// Those of some programs that are not there.
  static func missing(_ names: [String]) -> [String] { names.filter { !isThere($0) } }

  static var isRoot: Bool { geteuid() == 0 }

  /// Runs one to its end; what it prints.
  @discardableResult
  static func run(
    _ program: String, _ arguments: [String], scratch: String
  ) throws(TortureFailure) -> String {
    let child = try Child(program, arguments, output: scratch + "/command.\(Unique.next())")
    let ending = try child.wait()
    let text = child.text
    defer { for suffix in ["", ".errors"] { unsafe unlink(child.output + suffix) } }
    guard ending == .exited(0) else {
      throw TortureFailure(
        "\(program) \(arguments.joined(separator: " ")): \(ending): \(child.errors)")
    }
    return text
  }
}
