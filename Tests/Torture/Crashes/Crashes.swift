import ArgumentParser
import TestSupport

/// The power fails before every step of every disk in every scenario.
struct Crashes: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crashes",
    abstract: "Cuts the power at every step of scripted work, and opens all that could be left.")

  @Option(help: "What everything random comes from.")
  var seed: UInt64 = 1

  @Option(help: "Go on with new variants until so many different disks were opened.")
  var states = 100_000

  @ArgumentParser.Flag(help: "More of everything, for many minutes.")
  var long = false

  @Option(help: "Only the scenario of this name.")
  var only: String?

  func run() async throws {
    print("crashes: seed \(seed)")
    var expected = Ledger("crashes")
    if only == nil { expected.expect(Site.expected) }
    var search = CrashSearch(expected, effort: effort, seed: seed)
    let goal = long ? max(states, 5_000_000) : states
    do {
      try await scripts(&search, variant: 0)
      if only == nil { try await sequences(&search, goal) }
      var variant: UInt64 = 1
      while search.states < goal, only == nil {
        try await scripts(&search, variant: variant)
        variant += 1
      }
    } catch {
      print("crashes: after \(search.states) states")
      throw error
    }
    var ledger = search.ledger
    ledger.count("states", search.states)
    ledger.count("states at depth 2", search.deepStates)
    try ledger.close(rates: ["states", "images"])
  }

  private func scripts(_ search: inout CrashSearch, variant: UInt64) async throws {
    for scenario in Scenarios.store where only ?? scenario.name == scenario.name {
      try await search.search(scenario, variant: variant)
    }
    for scenario in Scenarios.shared where only ?? scenario.name == scenario.name {
      try await search.search(scenario, variant: variant)
    }
  }

  /// All short sequences of a few kinds of steps; in a short run as many as there is time for.
  private func sequences(_ search: inout CrashSearch, _ goal: Int) async throws {
    for length in 1...(long ? 3 : 2) {
      for scenario in Scenarios.storeSequences(of: length) where long || search.states < goal {
        try await search.search(scenario, variant: 0)
      }
      if length > 2 { continue }
      for scenario in Scenarios.sharedSequences(of: length) where long || search.states < goal {
        try await search.search(scenario, variant: 0)
      }
    }
  }

  private var effort: CrashSearch.Effort {
    CrashSearch.Effort(
      plan: FatePlan(changes: long ? 10 : 6, samples: long ? 200 : 24, parts: long ? 60 : 14),
      deepPlan: FatePlan(changes: 3, samples: 4, parts: 3), deepEvery: 40, goOnEvery: 50,
      verifyEvery: 5)
  }
}
