import ArgumentParser
import TestSupport

/// The power fails before every step of every disk in every scenario.
struct Crashes: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crashes",
    abstract: "Cuts the power at every step of scripted work, and opens all that could be left.")

  @Option(help: "What everything random comes from.")
  var seed: UInt64 = 1

  @Option(help: "Go on until so many different disks were opened (default: as the form says).")
  var states: Int?

  @ArgumentParser.Flag(help: "Less of everything, for a minute or two.")
  var short = false

  @ArgumentParser.Flag(help: "More of everything, for many minutes.")
  var long = false

  @Option(help: "Only the scenario of this name, all of it.")
  var only: String?

  @Option(help: "With which bytes, for --only.")
  var variant: UInt64 = 0

  @Option(help: "How many scenarios at once.")
  var jobs = 2

  func run() async throws {
    print("crashes: seed \(seed)")
    var ledger = Ledger("crashes")
    if only == nil {
      ledger.expect(Site.expected + Errors.faults.map { "in a recovery: " + $0.name })
    }
    let tally = CrashTally(try plan, goal: goal, deepGoal: 10_000)
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<max(1, jobs) { group.addTask { try await lane(tally) } }
        try await group.waitForAll()
      }
    } catch {
      print("crashes: after \(tally.states) states")
      throw error
    }
    tally.merge(into: &ledger)
    try ledger.close(rates: ["states", "images", "sites in recoveries"])
    try Site.checkListed(tally.sites, Site.expected + Site.rare)
    guard only != nil || ledger["states"] >= goal && ledger["states at depth 2"] >= 10_000 else {
      throw TortureFailure("the scenarios have become too few")
    }
  }

  private func lane(_ tally: CrashTally) async throws {
    while let (number, job) = tally.take() {
      var search = CrashSearch(Ledger("crashes"), effort: effort, seed: seed)
      do { try await search.search(job.scenario, variant: job.variant) } catch {
        tally.end()
        throw TortureFailure(
          "\(error)\n  again: cairn-torture crashes --seed \(seed) --only "
            + "\"\(job.scenario.name)\" --variant \(job.variant)"
            + (short ? " --short" : long ? " --long" : "")
            + (states.map { " --states \($0)" } ?? ""))
      }
      tally.add(number, search)
    }
  }

  private var goal: Int { states ?? (short ? 100_000 : long ? 5_000_000 : 150_000) }

  private var plan: CrashPlan {
    get throws {
      if let only { return try CrashPlan(only: only, variant: variant) }
      if short, states == nil { return CrashPlan(sequences: 1, extra: 2, variants: 4) }
      // Little of each, of as many as are asked for.
      if short { return CrashPlan(sequences: 3, extra: 3, variants: 10_000) }
      return CrashPlan(
        sequences: long ? 3 : 2, extra: long ? 3 : 2, variants: long ? 10_000 : 100)
    }
  }

  private var effort: CrashSearch.Effort {
    if short {
      return CrashSearch.Effort(
        plan: FatePlan(changes: 4, samples: 6, parts: 5),
        deepPlan: FatePlan(changes: 2, samples: 2, parts: 2), deepEvery: 60, goOnEvery: 50,
        verifyEvery: 10, againEvery: 5, failEvery: states == nil ? 10 : 5, killsEvery: 5,
        deepMax: 24)
    }
    return CrashSearch.Effort(
      plan: FatePlan(changes: long ? 10 : 6, samples: long ? 200 : 24, parts: long ? 60 : 14),
      deepPlan: FatePlan(changes: 3, samples: 4, parts: 3), deepEvery: 40, goOnEvery: 50,
      verifyEvery: 5, againEvery: long ? 1 : 2, failEvery: 2, killsEvery: 1, deepMax: 24)
  }
}
