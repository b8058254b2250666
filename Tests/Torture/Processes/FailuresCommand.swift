import ArgumentParser
import Cairn
import TestSupport

/// Makes system calls fail, be interrupted, be slow, be short or lie, over the whole life of a
/// store whose writer goes on as an app would.
struct FailuresCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "failures",
    abstract: "System calls of real processes that fail, are interrupted, slow, short, or lie.")

  @OptionGroup var options: RunOptions

  private struct Case: Sendable {
    var workload: Workload
    var fault: SystemFault
  }

  func run() async throws {
    let seed = options.begin("failures")
    var ledger = Ledger("failures")
    let place = try Workplace(options.directory)
    let shim = try Shim(scratch: place.path)
    let hasTracer = Command.isThere("strace")
    if !hasTracer { RunOptions.skip("failing system calls", "no strace") }
    if shim == nil { RunOptions.skip("short, lost and flipped writes", "no gcc") }
    let random = SeededRandom(seed)
    var cases: [(pile: String, card: Case)] = []
    for workload in try await Workload.all(place.path) {
      var faults: [SystemFault] = []
      if hasTracer {
        faults += SystemFault.traced(try SystemCalls(workload, scratch: place.path).points)
      }
      if let shim {
        let tally = try shim.count(workload, scratch: place.path)
        faults += SystemFault.shimmed(tally) { random.next() }
      }
      for fault in faults {
        // What lies is looked for in each workload; errors are many enough.
        let pile = fault.isLie ? fault.name + workload.name : fault.name
        cases.append((pile, Case(workload: workload, fault: fault)))
      }
    }
    if cases.isEmpty { return }
    let deck = Deck(cases, random)
    let turns = options.turns(default: min(1000, deck.cards))
    ledger.count("cases there are", deck.cards)
    ledger.count("kinds of cases there are", deck.count)
    try await options.lanes(&ledger, turns) { lane in
      let scratch = place.path("lane\(lane)")
      try TextFile.makeDirectory(scratch)
      var runner = FaultRunner(scratch: scratch, shim: shim)
      while !deck.isEmpty, let turn = turns.take() {
        // One that does not strike is none: the next of its kind takes its place.
        while let card = deck.draw(turn) {
          if try await runner.run(card.workload, card.fault) { break }
        }
      }
      return runner.ledger
    }
    guard ledger["cases"] > 0 else { throw TortureFailure("no fault struck") }
    // Enough for one of each kind, unless it was told to do less or its time was over before.
    if turns.count >= deck.count, options.seconds == nil || ledger["cases"] >= 2 * deck.count {
      ledger.expect(hasTracer ? SystemFault.tracedNames : [])
      ledger.expect(shim == nil ? [] : SystemFault.shimmedNames + ["a lie that was found"])
    }
    for (name, outcome) in FaultRunner.findings.sorted(by: { $0.key < $1.key }) {
      let cases = ledger["cases of \(name)"]
      guard cases < FaultRunner.findingsNeed || ledger["\(name): \(outcome)"] > 0 else {
        throw TortureFailure("\(cases) times \(name), and never \(outcome)")
      }
    }
    try ledger.close(rates: ["cases"])
  }
}
