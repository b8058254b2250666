import ArgumentParser
import CairnDisk
import TestSupport

/// Years of several devices, from seeds alone.
struct SimulateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Devices, disks, a folder and clocks that one seed decides, with all their faults.")

  @Option(help: "The first seed, or the only one with --seeds 1.") var seed: UInt64 = 1
  @Option(help: "How many seeds.") var seeds: Int?
  @Option(help: "Goes on with more seeds until there were so many events.") var events: Int?
  @Option(help: "How many seconds to go on for, whatever the number of seeds.")
  var seconds: Double?
  @Option(help: "The same in minutes.") var minutes: Double?
  @Option(help: "Steps of each seed, instead of what the seed says.") var steps: Int?
  @Option(help: "Finds the fewest steps of a seed that still fail.") var shrink: UInt64?
  @Option(help: "Runs the steps in a file.") var replay: String?
  @ArgumentParser.Flag(help: "First runs the lists of steps that failed once.") var fixtures = false
  @ArgumentParser.Flag(
    inversion: .prefixedNo,
    help: "Whether devices are retired and asked to forget, instead of what the seed says.")
  var retirements: Bool?
  @ArgumentParser.Flag(help: "Goes on with the next seed when one has failed.")
  var keepGoing = false
  @ArgumentParser.Flag(help: "Says what happens.") var trace = false
  @Option(help: "How many seeds at once.") var jobs = 2

  func run() async throws {
    if let shrink {
      return try await SimulationShrinker(
        length: steps, retirements: retirements, patience: nil
      ).run(seed: shrink)
    }
    if let replay { return try await SimulationRunner.replay(replay, isTracing: trace) }
    print("simulate: seed \(seed)")
    let limit = minutes.map { $0 * 60 } ?? seconds
    let turns = Turns(
      count: events == nil ? seeds ?? (limit == nil ? 2000 : Int.max) : Int.max,
      until: limit.map { ContinuousClock.now + .seconds($0) })
    let goal = events.map { EventGoal(events: $0, seeds: seeds ?? 1) }
    var tally = SimulationTally()
    if fixtures { try await runFixtures(&tally) }
    try await withThrowingTaskGroup(of: SimulationTally.self) { group in
      for _ in 0..<max(1, trace ? 1 : jobs) {
        group.addTask {
          do { return try await lane(turns, goal) } catch {
            turns.end()
            throw error
          }
        }
      }
      for try await part in group { tally.merge(part) }
    }
    // A time limit takes as many as fit into it; a number is a number.
    let done = tally.ledger["seeds"] + tally.failedSeeds.count
    if limit == nil, goal == nil, done != turns.count {
      throw TortureFailure("\(done) seeds were run of \(turns.count)")
    }
    if limit == nil, let goal, !goal.isReached {
      throw TortureFailure("there were fewer events or seeds than were asked for")
    }
    try tally.close(retirements: retirements)
  }

  private func runFixtures(_ tally: inout SimulationTally) async throws {
    let directory = ProjectFile.path("Tests/Fixtures/Simulation")
    for entry in try PosixDisk().list(directory) where entry.name.hasSuffix(".steps") {
      try await SimulationRunner.replay(directory + "/" + entry.name, isTracing: false)
      tally.count("fixtures")
    }
    if tally.ledger["fixtures"] == 0 {
      throw TortureFailure("there are no lists in \(directory)")
    }
  }

  private func lane(_ turns: Turns, _ goal: EventGoal?) async throws -> SimulationTally {
    var runner = SimulationRunner(
      length: steps, retirements: retirements, isTracing: trace, goesOn: keepGoing)
    while let number = turns.take() {
      let before = runner.tally.ledger["events"]
      try await runner.run(seed: seed &+ UInt64(number), isRunTwice: number % 20 == 0)
      guard let goal else { continue }
      goal.add(events: runner.tally.ledger["events"] - before)
      if goal.isReached { turns.end() }
    }
    return runner.tally
  }
}
