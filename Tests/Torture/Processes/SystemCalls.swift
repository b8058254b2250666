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

  /// Runs a workload to its end and notes each call from the first one on its files.
  init(_ workload: Workload, scratch: String) throws {
    let place = try workload.prepare(scratch)
    let log = scratch + "/calls"
    let arguments = ["-f", "-qq", "-e", "trace=" + SystemCalls.traced.joined(separator: ",")]
    try Command.run(
      "strace", arguments + ["-o", log, Child.own] + workload.arguments(place), scratch: scratch)
    var counts: [String: Int] = [:]
    var highest: [String: (from: Int, to: Int)] = [:]
    var hasBegun = false
    for line in TextFile.read(log).split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
      guard words.count == 2, let end = words[1].firstIndex(of: "(") else { continue }
      let call = String(words[1][..<end])
      guard SystemCalls.traced.contains(call) else { continue }
      counts["\(words[0]) \(call)", default: 0] += 1
      let number = counts["\(words[0]) \(call)"] ?? 0
      hasBegun = hasBegun || words[1].contains(place.root)
      if !hasBegun { continue }
      let range = highest[call] ?? (number, number)
      highest[call] = (min(range.from, number), max(range.to, number))
    }
    for call in SystemCalls.traced {
      guard let range = highest[call] else { continue }
      points += (range.from...range.to).map { Point(call: call, number: $0) }
    }
    try workload.remove(scratch)
  }

  /// Starts a workload with a fault at a point.
  static func start(
    _ workload: Workload, _ place: Place, _ call: String, _ fault: String, more: [String] = [],
    scratch: String
  ) throws -> Child {
    try Child(
      "strace",
      ["-f", "-qq", "--seccomp-bpf", "-e", "trace=\(call)", "-e", "inject=\(call):\(fault)"]
        + ["-o", "/dev/null", Child.own] + workload.arguments(place) + more,
      output: scratch + "/said")
  }
}
