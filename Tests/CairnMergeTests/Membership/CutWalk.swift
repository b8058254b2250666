import CairnMerge
import TestSupport

/// One history of a world too large to be looked at as a whole, chosen by a seed.
struct CutWalk {
  let rules: CutRules
  private var random: SeededRandom

  init(_ rules: CutRules, seed: UInt64) {
    self.rules = rules
    random = SeededRandom(seed)
  }

  /// What went wrong on the way or in the end, nil if nothing did.
  mutating func run(_ start: CutWorld, steps: Int) -> CutExplorer.Counterexample? {
    var world = start
    var path: [CutWorld.Action] = []
    do throws(CutWorld.Fault) {
      for _ in 0..<steps {
        // Users are slow, or the folder is: one kind of step may be rare.
        let first = random.below(4) == 0 ? world.free : world.inevitable(rules)
        let actions = first.isEmpty ? world.inevitable(rules) + world.free : first
        guard let action = actions.randomElement(using: &random) else { break }
        path.append(action)
        try world.perform(action)
      }
      try world.finish(rules)
      return nil
    } catch { return CutExplorer.Counterexample(fault: error, steps: path) }
  }
}
