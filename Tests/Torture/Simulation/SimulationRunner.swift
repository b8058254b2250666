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
  /// A seed that fails is noted, and the next one is run.
  let keepsGoing: Bool
  private(set) var ledger = Ledger("simulate")
  /// Seeds that did not hold.
  private(set) var failed: [UInt64] = []
  /// Some worlds at once take far less, however many there were before.
  private static let memoryMax = 512

  /// What one run came to.
  struct Outcome {
    var digest: UInt64
    var failure: String?
    var world: SimulatedWorld
  }

  init(
    length: Int?, retirements: Bool? = nil, isTracing: Bool = false, keepsGoing: Bool = false
  ) {
    self.length = length
    self.retirements = retirements
    self.isTracing = isTracing
    self.keepsGoing = keepsGoing
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

  mutating func run(seed: UInt64, isRunTwice: Bool) async throws {
    do { try await runOnce(seed: seed, isRunTwice: isRunTwice) } catch {
      guard keepsGoing, error is TortureFailure else { throw error }
      print("simulate: \(error)")
      failed.append(seed)
    }
  }

  private mutating func runOnce(seed: UInt64, isRunTwice: Bool) async throws {
    let script = SimulationScript(seed: seed, length: length, retirements: retirements)
    let outcome = await Self.run(script, isTracing: isTracing)
    if isTracing { print(outcome.world.trace.joined(separator: "\n")) }
    if let failure = outcome.failure {
      var options = length.map { " --steps \($0)" } ?? ""
      if let retirements { options += retirements ? " --retirements" : " --no-retirements" }
      let isSame = await Self.run(script).failure == failure
      print("simulate: seed \(seed) fails\(isSame ? ", and again" : ", and not in this way again")")
      print("simulate: \(failure)")
      print("simulate: again with cairn-torture simulate --seed \(seed) --seeds 1\(options)")
      if !keepsGoing {
        // Fewer steps tell more: as few as can be found in a minute.
        try await SimulationShrinker(
          length: length, retirements: retirements, patience: .seconds(60)
        ).run(seed: seed)
      }
      throw TortureFailure("seed \(seed): \(failure)\n  less: --shrink \(seed)\(options)")
    }
    if isRunTwice {
      let second = await Self.run(script)
      ledger.count("seeds run twice")
      guard second.digest == outcome.digest else {
        throw TortureFailure("seed \(seed) does not do the same twice")
      }
    }
    add(outcome.world)
  }

  mutating func count(_ name: String, _ number: Int) { ledger.count(name, number) }

  /// What another lane has done.
  mutating func merge(_ other: SimulationRunner) {
    ledger.merge(other.ledger)
    failed += other.failed
  }

  private mutating func add(_ world: SimulatedWorld) {
    ledger.count("seeds")
    ledger.count("worlds that came to rest", world.isSettled ? 1 : 0)
    ledger.count("events", world.eventCount)
    ledger.count("crashes", SimulationStep.Act.crashes.reduce(0) { $0 + world.taken($1) })
    ledger.count("faults", SimulationStep.Act.faults.reduce(0) { $0 + world.taken($1) })
    ledger.count("reference comparisons", world.comparisons)
    ledger.count("simulated hours", world.simulatedHours)
    ledger.count("deltas", world.histories.reduce(0) { $0 + $1.deltas.count })
    ledger.count("requests", world.folder.requests)
    ledger.count("worlds with a copy that is too old", world.strandedCopies)
    ledger.count("worlds with a name that was left twice", world.ambiguousNames)
    ledger.count("worlds with a cut in a file that the folder has lost", world.lostCuts)
    ledger.count("worlds in which somebody had to decide", world.decisions)
    for device in world.devices {
      ledger.count("devices")
      for copy in device.copies {
        ledger.count("edits", copy.counts.edits)
        ledger.count("commits", copy.counts.commits)
        ledger.count("deltas taken in", copy.counts.incorporated)
        ledger.count("conflicts", copy.counts.conflicts)
        ledger.count("limits met", copy.counts.limits)
        for (error, count) in copy.counts.errors.sorted(by: { $0.key < $1.key }) {
          ledger.count("errors, " + error, count)
        }
      }
    }
    for act in SimulationStep.Act.faults {
      let count = world.taken(act)
      if count > 0 { ledger.took(act.rawValue, count) }
    }
  }

  /// - Parameter unsettled: So many worlds may not come to rest.
  mutating func close(isComplete: Bool, unsettled: Int?) throws {
    if keepsGoing { ledger.count("seeds that fail", failed.count) }
    if isComplete {
      var left = SimulationScript.withheld
      if retirements == true { left.formUnion([.restore, .folderRolledBack, .massDelete]) }
      if retirements == false { left.formUnion(SimulationStep.Act.ofMembership) }
      let expected = SimulationStep.Act.faults.filter { !left.contains($0) }
      ledger.expect(expected.map(\.rawValue))
    }
    // 10 commits and 2 exchanges an hour while it is in use, a quarter of the day.
    let years = Double(ledger["events"]) / 26_280
    print("simulate: device-years \(Int(years)) (26280 actions a device-year)")
    let memory = Memory.peak
    ledger.count("memory MiB", memory)
    try ledger.close(
      rates: ["events", "seeds", "deltas", "simulated hours", "crashes", "faults"])
    guard memory <= Self.memoryMax else {
      throw TortureFailure("\(memory) MiB were in use at once")
    }
    guard !isComplete || ledger["reference comparisons"] > ledger["seeds"] else {
      throw TortureFailure("the reference is not asked any more")
    }
    if !failed.isEmpty {
      let list = failed.sorted().map { "\($0)" }.joined(separator: ", ")
      throw TortureFailure("these seeds fail: \(list)")
    }
    // Known limits, each of them, but what strands whole kinds of devices must not hide in them.
    let restless = ledger["seeds"] - ledger["worlds that came to rest"]
    guard restless <= unsettled ?? max(2, ledger["seeds"] / 50) else {
      throw TortureFailure("\(restless) of \(ledger["seeds"]) worlds do not come to rest")
    }
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
  func taken(_ act: SimulationStep.Act) -> Int {
    let number = SimulationStep.Act.numbers[act] ?? 0
    return counts[number] + folder.counts[number]
      + devices.reduce(0) { $0 + $1.faults.count(act) }
  }

  /// What was done or has struck, each once: the work in the middle of a round counts as what it
  /// is. Edits are apart.
  var eventCount: Int {
    let faults = SimulationStep.Act.faults.filter { $0 != .interleave }
    return faults.reduce(events) { $0 + taken($1) }
  }
}
