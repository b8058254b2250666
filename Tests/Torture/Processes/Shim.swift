import TestSupport

/// The C library that stands between a writer and the system, built when it is needed.
struct Shim: Sendable {
  /// What it does to a program; in the order of shim.c.
  enum Strike: Int, CaseIterable, Sendable {
    case failed, interrupted, shortWrite, shortRead, lostWrite, flipped, misread, unsynced, killed
  }

  /// Functions that it stands before; in the order of shim.c, which begins with none.
  static let functions = [
    "", "pwrite", "pread", "fdatasync", "fsync", "open", "rename", "unlink", "mkdir", "ftruncate",
    "unlinkat", "fallocate", "flock",
  ]

  /// What it has counted and done in one program, whatever became of that.
  struct Tally {
    private(set) var calls = 0
    private(set) var writes = 0
    private(set) var reads = 0
    private var strikes: [Int] = []
    /// The function that it struck last.
    private(set) var struck = ""
    /// The function that each call was, from 1 on.
    private(set) var functions: [String] = []

    static let size = (3 + 12 + 1) * 8 + 1 << 16

    /// Reads a file that a program has left.
    init(_ path: String) throws(TortureFailure) {
      let bytes = TextFile.bytes(path)
      guard bytes.count == Tally.size else { throw TortureFailure("there is no tally in \(path)") }
      let words = (0..<16).map { index in
        bytes[(index * 8)..<(index * 8 + 8)].reversed().reduce(0) { $0 << 8 | Int($1) }
      }
      (calls, writes, reads) = (words[0], words[1], words[2])
      strikes = Array(words[3..<15])
      struck = Shim.functions[words[15]]
      let names = bytes[128...].prefix(min(calls + 1, 1 << 16))
      functions = names.map { Shim.functions[Int($0)] }
    }

    subscript(_ strike: Strike) -> Int { strikes[strike.rawValue] }

    /// How often it struck, in whatever way.
    var all: Int { strikes.reduce(0, +) }
  }

  private let library: String

  /// Nil if there is no compiler.
  init?(scratch: String) throws {
    guard Command.isThere("gcc") else { return nil }
    library = scratch + "/shim.so"
    let source = ProjectFile.path("Tests/Torture/Processes/Shim/shim.c")
    try Command.run(
      "gcc", ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl"],
      scratch: scratch)
  }

  /// The environment of a program that it acts on, and of which it keeps a tally in a new file.
  func environment(_ mode: String, tally: String) throws(TortureFailure) -> [String] {
    try TextFile.write(tally, [UInt8](repeating: 0, count: Tally.size))
    return ["LD_PRELOAD=\(library)", "CAIRN_SHIM=\(mode)", "CAIRN_SHIM_TALLY=\(tally)"]
  }

  /// Calls, writes and reads of a whole run.
  func count(_ workload: Workload, scratch: String) throws -> Tally {
    let place = try workload.prepare(scratch)
    let file = scratch + "/tally"
    let child = try Child(
      Child.own, workload.arguments(place), output: scratch + "/said",
      environment: try environment("count", tally: file))
    let ending = try child.wait()
    let tally = try Tally(file)
    guard ending == .exited(0), tally.calls > 0, tally.all == 0 else {
      throw TortureFailure("the shim could not count: \(ending): \(child.errors)")
    }
    try workload.remove(scratch)
    return tally
  }
}
