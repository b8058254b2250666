import ArgumentParser
import Cairn
import TestSupport

/// Kills a writer before each of its system calls, one after the other.
struct CallsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "calls",
    abstract: "kill -9 before every system call of short lives of a store.")

  @OptionGroup var options: RunOptions

  /// One place at which to kill.
  private enum Point: Sendable {
    /// Before a system call, by strace.
    case call(Workload, SystemCalls.Point)
    /// Before a call of the C library, counted over all threads.
    case function(Workload, Int)
    /// In the middle of a write.
    case write(Workload, Int)
  }

  func run() async throws {
    let seed = options.begin("calls")
    var ledger = Ledger("calls")
    let place = try Workplace(options.directory)
    let shim = try Shim(scratch: place.path)
    var points: [Point] = []
    for workload in try await Workload.all(place.path) {
      var count = 0
      if Command.isThere("strace") {
        let found = try SystemCalls(workload, scratch: place.path).points
          .filter { SystemCalls.changing.contains($0.call) }
        points += found.map { .call(workload, $0) }
        count += found.count
      }
      if let shim {
        let counts = try shim.count(workload, scratch: place.path)
        points += (1...counts.calls).map { .function(workload, $0) }
        points += (1...counts.writes).map { .write(workload, $0) }
        count += counts.calls + counts.writes
      }
      ledger.count("points of workload \(workload.name)", count)
    }
    if !Command.isThere("strace") {
      RunOptions.skip("kills before system calls", "no strace")
    } else {
      ledger.expect(["killed before a system call"])
    }
    if shim == nil { RunOptions.skip("kills within writes", "no gcc") } else {
      ledger.expect(["killed before a function", "killed within a write"])
    }
    if points.isEmpty { return }
    // A part of them is a fair part.
    var random = SeededRandom(seed)
    points.shuffle(using: &random)
    let order = points
    let turns = options.turns(default: order.count)
    try await options.lanes(&ledger, turns) { lane in
      var ledger = Ledger("calls")
      let scratch = place.path("lane\(lane)")
      try TextFile.makeDirectory(scratch)
      while let turn = turns.take(), turn < order.count {
        try await CallsCommand.kill(at: order[turn], shim, scratch, &ledger)
      }
      return ledger
    }
    guard ledger["points that were not reached"] * 4 <= ledger["points"] else {
      throw TortureFailure("too many points were not reached: the faults do not come")
    }
    try ledger.close(rates: ["points"])
  }

  private static func kill(
    at point: Point, _ shim: Shim?, _ scratch: String, _ ledger: inout Ledger
  ) async throws {
    let child: Child
    let workload: Workload
    let fault: String
    switch point {
    case .call(let found, let point):
      workload = found
      fault = "killed before a system call"
      child = try SystemCalls.start(
        workload, try workload.prepare(scratch), point.call,
        "signal=KILL:when=\(point.number)", scratch: scratch)
    case .function(let found, let number):
      workload = found
      fault = "killed before a function"
      child = try start(workload, shim, "kill:\(number)", scratch)
    case .write(let found, let number):
      workload = found
      fault = "killed within a write"
      child = try start(workload, shim, "half:\(number)", scratch)
    }
    let ending = child.wait(seconds: 60)
    let words = Words(child.text)
    ledger.count("points")
    switch ending {
    case .signalled(9): ledger.took(fault)
    // Threads share the work differently each time: this one did not get so far.
    case .exited(0) where words.isDone: ledger.count("points that were not reached")
    default:
      throw TortureFailure(
        "\(point) of workload \(workload.name): \(ending): \(child.errors)")
    }
    do { try await workload.check(words, scratch) } catch {
      throw TortureFailure("\(workload.name), \(describe(point)): \(error)")
    }
  }

  private static func describe(_ point: Point) -> String {
    switch point {
    case .call(_, let point): "killed before \(point.call) \(point.number)"
    case .function(_, let number): "killed before function \(number)"
    case .write(_, let number): "killed within write \(number)"
    }
  }

  private static func start(
    _ workload: Workload, _ shim: Shim?, _ mode: String, _ scratch: String
  ) throws -> Child {
    try Child(
      Child.own, workload.arguments(try workload.prepare(scratch)), output: scratch + "/said",
      environment: shim?.environment(mode) ?? [])
  }
}

extension Workload {
  static func all(_ scratch: String) async throws -> [Workload] {
    [local(), try recovery(scratch), try await account(scratch)]
  }
}
