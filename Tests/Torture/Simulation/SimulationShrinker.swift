/// Finds the fewest steps that still fail: leaves out larger parts first, then smaller ones, then
/// devices.
struct SimulationShrinker {
  /// Steps of the seed, instead of what the seed says.
  let length: Int?
  /// Whether devices are retired, instead of what the seed says.
  var retirements: Bool?
  /// For how long it looks; nil is until there is nothing more to leave out.
  let patience: Duration?
  private let start = ContinuousClock.now

  init(length: Int?, retirements: Bool? = nil, patience: Duration?) {
    self.length = length
    self.retirements = retirements
    self.patience = patience
  }

  private var isOver: Bool { patience.map { ContinuousClock.now - start > $0 } ?? false }

  /// Prints what is left, as a list of steps for `simulate --replay`.
  func run(seed: UInt64) async throws {
    let script = SimulationScript(seed: seed, length: length, retirements: retirements)
    guard let failure = await SimulationRunner.run(script).failure else {
      print("simulate: seed \(seed) does not fail")
      return
    }
    var runs = 0
    var best = await withFewerSteps(script, failure, &runs)
    best = await withFewerDevices(best, failure, &runs)
    let last = await SimulationRunner.run(best)
    print("# \(failure)")
    print("# \(last.failure ?? "")")
    print("# \(best.steps.count) of \(script.steps.count) steps are left after \(runs) runs")
    print(best.text, terminator: "")
  }

  private func withFewerSteps(
    _ script: SimulationScript, _ failure: String, _ runs: inout Int
  ) async -> SimulationScript {
    var best = script
    var part = max(1, best.steps.count / 2)
    while !isOver {
      var start = 0
      var hasShrunk = false
      while start < best.steps.count, !isOver {
        var candidate = best
        candidate.steps.removeSubrange(start..<min(start + part, best.steps.count))
        if await fails(candidate, failure, &runs) {
          best = candidate
          hasShrunk = true
        } else {
          start += part
        }
      }
      if part == 1, !hasShrunk { break }
      part = max(1, part / 2)
    }
    return best
  }

  private func withFewerDevices(
    _ script: SimulationScript, _ failure: String, _ runs: inout Int
  ) async -> SimulationScript {
    var best = script
    while best.profile.devices > 2, !isOver {
      var candidate = best
      candidate.profile.devices -= 1
      guard await fails(candidate, failure, &runs) else { break }
      best = candidate
    }
    return best
  }

  private func fails(
    _ script: SimulationScript, _ failure: String, _ runs: inout Int
  ) async -> Bool {
    runs += 1
    // Another failure on the way is another matter.
    return await SimulationRunner.run(script).failure.map { Self.same($0, failure) } ?? false
  }

  /// Numbers and names may differ.
  private static func same(_ a: String, _ b: String) -> Bool { kind(a) == kind(b) }

  private static func kind(_ text: String) -> String {
    let start = text.split(separator: ":").prefix(2).joined(separator: ":")
    return start.filter { !$0.isNumber }
  }
}
