import ArgumentParser
import Cairn
import TestSupport

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

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
    /// Before a call of the C library, counted over all threads, and which it was when they were.
    case function(Workload, Int, String)
    /// In the middle of a write.
    case write(Workload, Int)
  }

  func run() async throws {
    let seed = options.begin("calls")
    var ledger = Ledger("calls")
    let place = try Workplace(options.directory)
    let shim = try Shim(scratch: place.path)
    let hasTracer = Command.isThere("strace")
    if !hasTracer { RunOptions.skip("kills before system calls", "no strace") }
    if shim == nil { RunOptions.skip("kills within writes", "no gcc") }
    var points: [(pile: String, card: Point)] = []
    func add(_ pile: String, _ workload: Workload, _ point: Point) {
      points.append(("\(pile), \(workload.name)", point))
    }
    for workload in try await Workload.all(place.path) {
      let before = points.count
      if hasTracer {
        let found = try SystemCalls(workload, scratch: place.path).points
          .filter { SystemCalls.changing.contains($0.call) }
        for point in found { add(point.call, workload, .call(workload, point)) }
      }
      if let shim {
        let tally = try shim.count(workload, scratch: place.path)
        for (number, function) in tally.functions.enumerated().dropFirst() {
          add("any \(function)", workload, .function(workload, number, function))
        }
        for number in 0..<tally.writes { add("within", workload, .write(workload, number + 1)) }
      }
      ledger.count("points of workload \(workload.name)", points.count - before)
    }
    if points.isEmpty { return }
    let deck = Deck(points, SeededRandom(seed))
    let turns = options.turns(default: deck.cards)
    try await options.lanes(&ledger, turns) { lane in
      var ledger = Ledger("calls")
      let scratch = place.path("lane\(lane)")
      try TextFile.makeDirectory(scratch)
      while !deck.isEmpty, let turn = turns.take() {
        // One that is not reached is none: the next of its kind takes its place.
        while let point = deck.draw(turn) {
          if try await CallsCommand.kill(at: point, shim, scratch, &ledger) { break }
        }
      }
      return ledger
    }
    guard ledger["points"] > 0, ledger["points that were not reached"] * 4 <= ledger["points"]
    else { throw TortureFailure("too many points were not reached: the faults do not come") }
    // Enough for one of each kind, unless it was told to do less or its time was over before.
    if turns.count >= deck.count, options.seconds == nil || ledger["points"] >= 2 * deck.count {
      if hasTracer { ledger.expect(SystemCalls.changing.map { "killed before \($0)" }) }
      if shim != nil {
        ledger.expect(SystemFault.functions.map { "killed before \($0), any thread" })
        ledger.expect(["killed within a write"])
      }
    }
    try ledger.close(rates: ["points"])
  }

  /// Whether the point was reached, and was what it was meant to be.
  private static func kill(
    at point: Point, _ shim: Shim?, _ scratch: String, _ ledger: inout Ledger
  ) async throws -> Bool {
    let child: Child
    let workload: Workload
    switch point {
    case .call(let found, let point):
      workload = found
      child = try SystemCalls.start(
        workload, try workload.prepare(scratch), point.call,
        "signal=KILL:when=\(point.number)", scratch: scratch)
    case .function(let found, let number, _):
      workload = found
      child = try start(workload, shim, "kill:\(number)", scratch)
    case .write(let found, let number):
      workload = found
      child = try start(workload, shim, "half:\(number)", scratch)
    }
    do {
      let ending = try child.wait(seconds: 45)
      let words = Words(child.text)
      var isMeant = false
      switch ending {
      case .signalled(SIGKILL):
        ledger.count("points")
        ledger.count("acked commits before a kill", words.acks.count)
        isMeant = try note(point, scratch, &ledger)
      // Threads share the work differently each time: this one did not get so far.
      case .exited(0) where words.isDone: ledger.count("points that were not reached")
      default: throw TortureFailure("\(ending): \(child.errors)")
      }
      try await workload.check(words, scratch)
      return isMeant
    } catch {
      throw TortureFailure("\(workload.name), \(describe(point)): \(error)")
    }
  }

  /// Writes down what the kill hit. False if it was another function than meant.
  private static func note(
    _ point: Point, _ scratch: String, _ ledger: inout Ledger
  ) throws -> Bool {
    switch point {
    case .call(_, let point):
      ledger.took("killed before \(point.call)")
      return true
    case .function(_, _, let function):
      let tally = try Shim.Tally(scratch + "/tally")
      guard tally[.killed] == 1 else { throw TortureFailure("somebody else killed it") }
      ledger.took("killed before \(tally.struck), any thread")
      return tally.struck == function
    case .write:
      guard try Shim.Tally(scratch + "/tally")[.killed] == 1 else {
        throw TortureFailure("somebody else killed it")
      }
      ledger.took("killed within a write")
      return true
    }
  }

  private static func describe(_ point: Point) -> String {
    switch point {
    case .call(_, let point): "killed before \(point.call) \(point.number)"
    case .function(_, let number, let name): "killed before call \(number), a \(name)"
    case .write(_, let number): "killed within write \(number)"
    }
  }

  private static func start(
    _ workload: Workload, _ shim: Shim?, _ mode: String, _ scratch: String
  ) throws -> Child {
    try Child(
      Child.own, workload.arguments(try workload.prepare(scratch)), output: scratch + "/said",
      environment: try shim?.environment(mode, tally: scratch + "/tally") ?? [])
  }
}

extension Workload {
  static func all(_ scratch: String) async throws -> [Workload] {
    [local(), try recovery(scratch), try await account(scratch)]
  }
}
