import CairnMerge

/// Looks at every state that a small world can get into.
struct CutExplorer {
  struct Counterexample: Error, CustomStringConvertible {
    var fault: CutWorld.Fault
    var steps: [CutWorld.Action]

    var description: String { "\(fault) after " + steps.map { "\($0)" }.joined(separator: "; ") }
  }

  let rules: CutRules
  /// Gives up after this many states.
  var statesMax = Int.max
  private(set) var states = 0
  private(set) var ends = 0
  private var seen: Set<CutWorld> = []
  private var path: [CutWorld.Action] = []

  init(_ rules: CutRules) { self.rules = rules }

  /// The first fault found, nil if there is none.
  mutating func run(_ world: CutWorld) -> Counterexample? {
    guard states < statesMax, seen.insert(world).inserted else { return nil }
    states += 1
    let inevitable = world.inevitable(rules)
    for action in inevitable + world.free {
      var next = world
      path.append(action)
      defer { path.removeLast() }
      do throws(CutWorld.Fault) { try next.perform(action) } catch {
        return Counterexample(fault: error, steps: path)
      }
      if let found = run(next) { return found }
    }
    guard inevitable.isEmpty else { return nil }
    ends += 1
    var end = world
    do throws(CutWorld.Fault) { try end.finish(rules) } catch {
      return Counterexample(fault: error, steps: path)
    }
    return nil
  }
}
