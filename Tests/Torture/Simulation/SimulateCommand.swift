import ArgumentParser
import TestSupport

/// Years of several devices, from seeds alone.
struct SimulateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Devices, disks, a folder and clocks that one seed decides, with all their faults.")

  @Option(help: "The first seed, or the only one with --seeds 1.") var seed: UInt64 = 1
  @Option(help: "How many seeds.") var seeds: Int?
  @Option(help: "How many seconds to go on for, whatever the number of seeds.")
  var seconds: Double?
  @Option(help: "The same in minutes.") var minutes: Double?
  @Option(help: "Steps of each seed, instead of what the seed says.") var steps: Int?
  @Option(help: "Finds the fewest steps of a seed that still fail.") var shrink: UInt64?
  @Option(help: "Runs the steps in a file.") var replay: String?
  @ArgumentParser.Flag(help: "Says what happens.") var trace = false

  func run() async throws {
    if let shrink { return try await SimulationShrinker.run(seed: shrink, length: steps) }
    if let replay { return try await SimulationRunner.replay(replay, isTracing: trace) }
    var runner = SimulationRunner(length: steps, isTracing: trace)
    let limit = minutes.map { $0 * 60 } ?? seconds
    let count = seeds ?? (limit == nil ? 2000 : Int.max)
    let start = ContinuousClock.now
    var number = 0
    while number < count {
      if let limit, ContinuousClock.now - start > .seconds(limit) { break }
      try await runner.run(seed: seed &+ UInt64(number))
      number += 1
    }
    try runner.close(isComplete: number > 200)
  }
}
