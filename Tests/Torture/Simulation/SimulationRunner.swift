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
  private(set) var ledger = Ledger("simulate")

  /// What one run came to.
  struct Outcome {
    var digest: UInt64
    var failure: String?
    var world: SimulatedWorld
  }

  init(length: Int?, retirements: Bool? = nil, isTracing: Bool) {
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

  mutating func run(seed: UInt64, isRunTwice: Bool) async throws {
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
      // Fewer steps tell more: as few as can be found in a minute.
      try await SimulationShrinker(
        length: length, retirements: retirements, patience: .seconds(60)
      ).run(seed: seed)
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

  private mutating func add(_ world: SimulatedWorld) {
    ledger.count("seeds")
    ledger.count("events", world.eventCount)
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

  static func close(_ ledger: Ledger, retirements: Bool?, isComplete: Bool) throws {
    var ledger = ledger
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
    try ledger.close(rates: ["events", "seeds", "deltas"])
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

  var eventCount: Int {
    let faults = SimulationStep.Act.faults.reduce(0) { $0 + taken($1) }
    return devices.reduce(events + faults) { sum, device in
      device.copies.reduce(sum) { $0 + $1.counts.edits }
    }
  }
}
