/// The system calls of a run, as strace counts them: by thread and name.
struct SystemCalls {
  /// One call that can be interrupted.
  struct Point: Sendable {
    var call: String
    var number: Int
  }

  /// Calls that change files, or may fail.
  static let traced = [
    "openat", "pwrite64", "pread64", "fdatasync", "fsync", "rename", "unlink", "unlinkat", "mkdir",
    "fallocate", "ftruncate", "flock", "close", "getdents64",
  ]
  /// Those that a kill may fall between.
  static let changing = [
    "openat", "pwrite64", "fdatasync", "fsync", "rename", "unlink", "unlinkat", "mkdir",
    "fallocate", "ftruncate", "flock", "close",
  ]

  private(set) var points: [Point] = []

  /// Runs a workload to its end and notes each call that can be told from those before it begins;
  /// the shim is there for the others.
  init(_ workload: Workload, scratch: String) throws {
    let place = try workload.prepare(scratch)
    let log = scratch + "/calls"
    let arguments = ["-f", "-qq", "-e", "trace=" + SystemCalls.traced.joined(separator: ",")]
    try Command.run(
      "strace", arguments + ["-o", log, Child.own] + workload.arguments(place), scratch: scratch)
    var counts: [Substring: [String: Int]] = [:]
    var first: Substring?
    for line in TextFile.read(log).split(separator: "\n") {
      // A thread and a call; short numbers of threads are padded.
      let words = line.prefix { $0 != "(" }.split(separator: " ")
      guard words.count == 2 else { continue }
      first = first ?? words[0]
      counts[words[0], default: [:]][String(words[1]), default: 0] += 1
    }
    for call in SystemCalls.traced {
      // The first thread loads libraries, and its numbers come first.
      let before = first.flatMap { counts[$0]?[call] } ?? 0
      let highest = counts.values.map { $0[call] ?? 0 }.max() ?? 0
      if before < highest {
        points += ((before + 1)...highest).map { Point(call: call, number: $0) }
      }
    }
    try workload.remove(scratch)
  }

  /// Starts a workload with a fault at a point. Signals need the slow way of tracing: with a filter
  /// they are not sent.
  ///
  /// - Parameter log: gets the calls of this name; each that was spoilt has a mark.
  static func start(
    _ workload: Workload, _ place: StorePlace, _ call: String, _ fault: String, more: [String] = [],
    log: String = "/dev/null", scratch: String
  ) throws -> Child {
    try Child(
      "strace",
      ["-f", "-qq"] + (fault.hasPrefix("signal") ? [] : ["--seccomp-bpf"])
        + ["-e", "trace=\(call)", "-e", "inject=\(call):\(fault)"]
        + ["-o", log, Child.own] + workload.arguments(place) + more,
      output: scratch + "/said")
  }
}
