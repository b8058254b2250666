import TestSupport

/// The C library that stands between a writer and the system, built when it is needed.
struct Shim: Sendable {
  private let library: String

  /// Nil if there is no compiler.
  init?(scratch: String) throws {
    guard Command.isThere("gcc") else { return nil }
    library = scratch + "/shim.so"
    let source = ProjectFile.path("Tests/Torture/Processes/Shim/shim.c")
    try Command.run(
      "gcc", ["-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], scratch: scratch)
  }

  /// The environment of a program that it acts on.
  func environment(_ mode: String) -> [String] {
    ["LD_PRELOAD=\(library)", "CAIRN_SHIM=\(mode)"]
  }

  struct Counts {
    var calls = 0
    var writes = 0
    var reads = 0
  }

  /// Calls, writes and reads of a whole run.
  func count(_ workload: Workload, scratch: String) throws -> Counts {
    let place = try workload.prepare(scratch)
    let file = scratch + "/count"
    let child = try Child(
      Child.own, workload.arguments(place), output: scratch + "/said",
      environment: environment("count") + ["CAIRN_SHIM_COUNT=\(file)"])
    let ending = child.wait()
    let numbers = TextFile.read(file).split { $0 == " " || $0.isNewline }.compactMap { Int($0) }
    guard ending == .exited(0), numbers.count == 3 else {
      throw TortureFailure("the shim could not count: \(ending): \(child.errors)")
    }
    try workload.remove(scratch)
    return Counts(calls: numbers[0], writes: numbers[1], reads: numbers[2])
  }
}
