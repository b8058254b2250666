/// Finds the fewest steps that still fail: leaves out larger parts first, then smaller ones.
enum SimulationShrinker {
  static func run(seed: UInt64, length: Int?) async throws {
    let script = SimulationScript(seed: seed, length: length)
    let first = await SimulationRunner.run(script)
    guard let failure = first.failure else {
      print("simulate: seed \(seed) does not fail")
      return
    }
    print("# \(failure)")
    var best = script
    var part = max(1, best.steps.count / 2)
    var runs = 0
    while true {
      var start = 0
      var hasShrunk = false
      while start < best.steps.count {
        var candidate = best
        candidate.steps.removeSubrange(start..<min(start + part, best.steps.count))
        runs += 1
        if await SimulationRunner.run(candidate).failure.map({ same($0, failure) }) == true {
          best = candidate
          hasShrunk = true
        } else {
          start += part
        }
      }
      if part == 1, !hasShrunk { break }
      part = max(1, part / 2)
    }
    best = await withFewerDevices(best, failure)
    let last = await SimulationRunner.run(best)
    print("# \(last.failure ?? "")")
    print("# \(best.steps.count) of \(script.steps.count) steps are left after \(runs) runs")
    print(best.text, terminator: "")
  }

  private static func withFewerDevices(
    _ script: SimulationScript, _ failure: String
  ) async -> SimulationScript {
    var best = script
    while best.profile.devices > 2 {
      var candidate = best
      candidate.profile.devices -= 1
      guard await SimulationRunner.run(candidate).failure.map({ same($0, failure) }) == true else {
        break
      }
      best = candidate
    }
    return best
  }

  /// Another failure on the way is another matter. Numbers and names may differ.
  private static func same(_ a: String, _ b: String) -> Bool { kind(a) == kind(b) }

  private static func kind(_ text: String) -> String {
    let start = text.split(separator: ":").prefix(2).joined(separator: ":")
    return start.filter { !$0.isNumber }
  }
}
