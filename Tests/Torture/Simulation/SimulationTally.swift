/// What some seeds came to: figures, the faults that struck, and what can't be added up.
struct SimulationTally {
  private(set) var ledger = Ledger("simulate")
  /// After how many rounds the slowest world had come to rest, and after its last compaction.
  private var roundsToRest = (first: 0, second: 0)
  private(set) var failedSeeds: [UInt64] = []
  private var struck: Set<String> = []

  /// Among so many seeds each fault has to strike, and only few worlds may not come to rest.
  static let completeSeeds = 200
  /// Worlds that may meet one of the known limits, of a hundred.
  static let restlessPercent = 3

  /// Worlds that did not come to rest, by which known limit that was.
  private static let limits = [
    "worlds with a copy that is too old", "worlds with a name that was left twice",
    "worlds with a cut in a file that the folder has lost",
    "worlds with a sum of which nobody knows how far it had come",
  ]

  mutating func count(_ name: String, _ number: Int = 1) { ledger.count(name, number) }

  mutating func fail(_ seed: UInt64) { failedSeeds.append(seed) }

  mutating func merge(_ other: SimulationTally) {
    ledger.merge(other.ledger)
    noteRounds(other.roundsToRest)
    failedSeeds += other.failedSeeds
    struck.formUnion(other.struck)
  }

  private mutating func noteRounds(_ rounds: (first: Int, second: Int)) {
    roundsToRest.first = max(roundsToRest.first, rounds.first)
    roundsToRest.second = max(roundsToRest.second, rounds.second)
  }

  /// A world in which nothing failed that may not.
  mutating func add(_ world: SimulatedWorld) {
    ledger.count("seeds")
    ledger.count("events", world.eventCount)
    ledger.count("simulated hours", world.simulatedHours)
    ledger.count("deltas", world.histories.reduce(0) { $0 + $1.deltas.count })
    ledger.count("crashes", world.taken(.crash) + world.taken(.powerCut))
    ledger.count("faults", world.faultCount)
    ledger.count("requests", world.folder.requests)
    ledger.count("worlds at rest", world.roundsToRest == nil ? 0 : 1)
    if let rounds = world.roundsToRest { noteRounds(rounds) }
    for (name, number) in zip(
      Self.limits,
      [world.strandedCopies, world.ambiguousNames, world.lostCuts, world.unknownSums])
    {
      ledger.count(name, number)
    }
    ledger.count("worlds in which somebody had to decide", world.decisions.isEmpty ? 0 : 1)
    ledger.count("files of the list that nobody is left to mend", world.ownerlessFiles.count)
    ledger.count("heads that nobody is left to mend", world.ownerlessHeads.count)
    ledger.count("checks against the reference", world.referenceChecks)
    ledger.count("cuts that all agreed on", world.sealedCuts)
    for device in world.devices {
      ledger.count("devices")
      for copy in device.copies { add(copy.counts) }
    }
    for act in SimulationStep.Act.faults {
      let count = world.taken(act)
      if count == 0 { continue }
      ledger.took(act.rawValue, count)
      struck.insert(act.rawValue)
    }
  }

  private mutating func add(_ counts: SimulatedCopy.Counts) {
    ledger.count("edits", counts.edits)
    ledger.count("commits", counts.commits)
    ledger.count("exchanges", counts.exchanges)
    ledger.count("deltas taken in", counts.incorporated)
    ledger.count("conflicts", counts.conflicts)
    ledger.count("limits met", counts.limits)
    ledger.count("names given up", counts.renamed)
    for (error, count) in counts.errors.sorted(by: { $0.key < $1.key }) {
      ledger.count("errors, " + error, count)
    }
  }

  /// Prints everything. Throws if a seed has failed, a fault that was to strike never has, or what
  /// the worlds are compared by was never there.
  func close(retirements: Bool?) throws {
    var ledger = ledger
    let isComplete = ledger["seeds"] + failedSeeds.count >= Self.completeSeeds
    var left = SimulationScript.withheld
    if retirements == true { left.formUnion([.restore, .folderRolledBack, .massDelete]) }
    if retirements == false { left.formUnion(SimulationStep.Act.ofMembership) }
    let expected = SimulationStep.Act.faults.filter { !left.contains($0) }.map(\.rawValue)
    if isComplete { ledger.expect(expected) }
    // An hour of use has ten commits and two exchanges, and a device is used six hours a day.
    let actions = ledger["commits"] + ledger["exchanges"]
    print("simulate: device-years of use (26280 commits and exchanges each) \(actions / 26_280)")
    print("simulate: device-years of the clocks \(ledger["simulated hours"] / 8760)")
    print(
      "simulate: rounds to rest at most \(roundsToRest.first), then \(roundsToRest.second) (limits "
        + "\(SimulatedWorld.roundsWithRetirements) and \(SimulatedWorld.roundsMax))")
    print("simulate: failed seeds \(failedSeeds.count)")
    if !isComplete {
      for name in expected where !struck.contains(name) { print("simulate: fault \(name) 0") }
    }
    try ledger.close(
      rates: ["simulated hours", "events", "seeds", "deltas", "crashes", "faults"])
    try check(isComplete: isComplete, retirements: retirements)
  }

  private func check(isComplete: Bool, retirements: Bool?) throws {
    guard failedSeeds.isEmpty else {
      let seeds = failedSeeds.sorted().map(String.init).joined(separator: ", ")
      throw TortureFailure("\(failedSeeds.count) seeds have failed: \(seeds)")
    }
    let restless = Self.limits.reduce(0) { $0 + ledger[$1] }
    guard ledger["worlds at rest"] + restless == ledger["seeds"], ledger["seeds"] > 0 else {
      throw TortureFailure("worlds have ended without rest, and without a reason for that")
    }
    guard isComplete else { return }
    guard restless * 100 <= ledger["seeds"] * Self.restlessPercent else {
      throw TortureFailure(
        "\(restless) worlds have met a known limit: more than \(Self.restlessPercent) of a hundred")
    }
    var wanted = [
      "deltas taken in", "conflicts", "limits met", "checks against the reference",
      "names given up", "seeds run twice",
    ]
    if retirements != false { wanted.append("cuts that all agreed on") }
    if let name = wanted.first(where: { ledger[$0] == 0 }) {
      throw TortureFailure("\(name): 0, and then nothing was compared by them")
    }
  }
}
