import TestSupport

/// Everything that happens in one simulation before all faults end: made from a seed, cut down by
/// shrinking, read from a file. A line each.
struct SimulationScript: Hashable, Sendable {
  var profile: SimulationProfile
  var steps: [SimulationStep]

  /// Faults that the real code can't take yet are left out.
  static let withheld: Set<SimulationStep.Act> = []
  /// What a device did may have another name after these.
  static let needMarks: Set<SimulationStep.Act> = [.clone, .restore, .folderRolledBack]
  /// Where much goes at once a snapshot soon takes the place of what was published, and then a copy
  /// that is older than that can't be told apart any more: it says so, and publishes nothing.
  static let excludeMarks: Set<SimulationStep.Act> = [.massDelete]

  /// What a seed makes happen. Each seed has its own subset of the faults at rates of its own, for
  /// some faults hide behind others.
  init(seed: UInt64, length: Int? = nil, retirements: Bool? = nil) {
    profile = SimulationProfile(choosing: seed, retirements: retirements)
    let random = SeededRandom(seed &* 0x2545_F491_4F6C_DD1D &+ 5)
    var weights = Self.weights(random, hasMarks: profile.hasMarks)
    if profile.retires { Self.addMembership(to: &weights, SeededRandom(seed &+ 41)) }
    let total = weights.reduce(0) { $0 + $1.weight }
    func act() -> SimulationStep.Act {
      var place = random.below(total)
      for (act, weight) in weights {
        if place < weight { return act }
        place -= weight
      }
      return .edit
    }
    let count = length ?? 300 + random.below(900)
    let devices = profile.devices
    steps = (0..<count).map { _ in
      var step = SimulationStep(
        act: act(), device: random.below(devices), seed: random.next() >> 20)
      if step.act == .interleave {
        let inner: [SimulationStep.Act] = [
          .edit, .commit, .exchange, .meet, .compact, .reopen, .crash, .deliver, .refresh,
        ]
        step.inner = inner[random.below(inner.count)]
        step.innerDevice = random.below(devices)
      }
      return step
    }
  }

  init(_ profile: SimulationProfile, _ steps: [SimulationStep]) {
    self.profile = profile
    self.steps = steps
  }

  private static func weights(
    _ random: SeededRandom, hasMarks: Bool
  ) -> [(act: SimulationStep.Act, weight: Int)] {
    func pick(_ choices: [Int]) -> Int { choices[random.below(choices.count)] }
    var result: [(act: SimulationStep.Act, weight: Int)] = [
      (.edit, 4000), (.commit, pick([500, 1000, 2500])), (.exchange, pick([50, 300, 800])),
      (.meet, pick([300, 900, 1500])), (.refresh, pick([0, 20, 80])), (.rollback, 60),
      (.compact, pick([0, 20, 100])), (.reopen, pick([0, 30, 120])),
      (.restart, pick([0, 20, 60])), (.check, 60), (.deliver, pick([100, 600, 1500])),
      (.wait, pick([5, 50])), (.join, pick([0, 4, 12])), (.backup, 20), (.consent, pick([5, 60])),
    ]
    let level = pick([20, 60, 150])
    for act in SimulationStep.Act.faults
    where !withheld.contains(act) && !SimulationStep.Act.ofMembership.contains(act) {
      guard random.below(5) < 2 else { continue }
      if needMarks.contains(act), !hasMarks { continue }
      if excludeMarks.contains(act), hasMarks { continue }
      var weight = pick([level / 4, level, level * 2])
      if needMarks.contains(act) { weight = pick([4, 12]) }
      if act == .interleave { weight *= 2 }
      if act == .folderEmptied { weight = 8 }
      if act == .massDelete { weight = pick([10, 40]) }
      result.append((act, max(1, weight)))
    }
    return result
  }

  /// What was published by a device that was retired meanwhile, and is only in its backup, it can't
  /// write once more: there are no backups then.
  private static func addMembership(
    to weights: inout [(act: SimulationStep.Act, weight: Int)], _ random: SeededRandom
  ) {
    weights.removeAll { [.restore, .folderRolledBack].contains($0.act) }
    for act in SimulationStep.Act.ofMembership {
      weights.append((act, [6, 20, 60][random.below(3)]))
    }
  }

  // MARK: text

  private static let title = "cairn simulation 1"

  var text: String {
    ([Self.title, profile.line] + steps.map(\.description)).joined(separator: "\n") + "\n"
  }

  init(text: String) throws(TortureFailure) {
    let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
    guard lines.count >= 2, lines[0] == Self.title, let profile = SimulationProfile(lines[1]) else {
      throw TortureFailure("this is no list of steps: it does not begin with \"\(Self.title)\"")
    }
    self.profile = profile
    steps = []
    for line in lines.dropFirst(2) {
      guard let step = SimulationStep(line) else {
        throw TortureFailure("this is no step: \(line)")
      }
      steps.append(step)
    }
  }
}
