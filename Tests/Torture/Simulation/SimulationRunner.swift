import Cairn
import TestSupport

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Runs seeds and keeps the books.
struct SimulationRunner {
  let length: Int?
  /// Whether devices are retired, instead of what the seed says.
  let retirements: Bool?
  let isTracing: Bool
  /// Whether the other seeds are run when one has failed.
  let goesOn: Bool
  private(set) var tally = SimulationTally()

  /// What one run came to.
  struct Outcome {
    var digest: UInt64
    var failure: String?
    var world: SimulatedWorld
  }

  init(length: Int?, retirements: Bool? = nil, isTracing: Bool, goesOn: Bool = false) {
    self.goesOn = goesOn
    self.length = length
    self.retirements = retirements
    self.isTracing = isTracing
  }

  static func run(_ script: SimulationScript, isTracing: Bool = false) async -> Outcome {
    let world = SimulatedWorld(script.profile)
    world.isTracing = isTracing
    var failure: String?
    do {
      try await world.run(script.steps)
      try await world.settle()
    } catch { failure = "\(error)" }
    return Outcome(digest: world.digest.value, failure: failure, world: world)
  }

  /// One seed. If it fails, that is printed, and thrown unless the others are to go on.
  mutating func run(seed: UInt64, isRunTwice: Bool) async throws {
    let script = SimulationScript(seed: seed, length: length, retirements: retirements)
    let outcome = await Self.run(script, isTracing: isTracing)
    if isTracing { print(outcome.world.trace.joined(separator: "\n")) }
    if let failure = outcome.failure {
      let isSame = await Self.run(script).failure == failure
      return try await fail(
        seed, failure, isSame ? "fails, and again" : "fails, and not in this way again",
        canShrink: true)
    }
    if isRunTwice {
      let second = await Self.run(script)
      tally.count("seeds run twice")
      guard second.digest == outcome.digest, second.failure == nil else {
        return try await fail(
          seed, second.failure ?? "another digest", "does not do the same twice", canShrink: false)
      }
    }
    tally.add(outcome.world)
  }

  private mutating func fail(
    _ seed: UInt64, _ failure: String, _ how: String, canShrink: Bool
  ) async throws {
    var options = length.map { " --steps \($0)" } ?? ""
    if let retirements { options += retirements ? " --retirements" : " --no-retirements" }
    print("simulate: seed \(seed) \(how)")
    print("simulate: \(failure)")
    print("simulate: again with cairn-torture simulate --seed \(seed) --seeds 1\(options)")
    if goesOn { return tally.fail(seed) }
    // Fewer steps tell more: as few as can be found in a minute.
    if canShrink {
      try await SimulationShrinker(
        length: length, retirements: retirements, patience: .seconds(60)
      ).run(seed: seed)
    }
    throw TortureFailure("seed \(seed): \(failure)\n  less: --shrink \(seed)\(options)")
  }

  // MARK: lists of steps

  static func replay(_ path: String, isTracing: Bool) async throws {
    let script = try SimulationScript(text: try read(path))
    let outcome = await run(script, isTracing: isTracing)
    if isTracing { print(outcome.world.trace.joined(separator: "\n")) }
    if let failure = outcome.failure { throw TortureFailure("\(path): \(failure)") }
    print("simulate: \(path): \(script.steps.count) steps hold")
  }

  static func read(_ path: String) throws -> String {
    guard let file = unsafe fopen(path, "r") else {
      throw TortureFailure("\(path) can't be read")
    }
    defer { unsafe fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe fread(&buffer, 1, buffer.count, file)
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer[..<count]
    }
  }
}

extension SimulatedWorld {
  /// How often a fault has struck.
  func taken(_ act: SimulationStep.Act) -> Int {
    let number = SimulationStep.Act.numbers[act] ?? 0
    return devices.reduce(counts[number] + folder.counts[number]) { sum, device in
      sum + device.faults.count(act) + (act == .clockJump ? device.clock.jumps : 0)
    }
  }

  /// Likewise of all faults.
  var faultCount: Int { SimulationStep.Act.faults.reduce(0) { $0 + taken($1) } }

  /// What was done, each edit, and each fault that struck: each of them once.
  var eventCount: Int {
    devices.reduce(events + faultCount) { sum, device in
      device.copies.reduce(sum) { $0 + $1.counts.edits }
    }
  }
}
