import CairnMerge
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// What `CutBook` decides, in every world of a few devices and in many larger ones: no fence is
/// ever passed by a delta that has not seen it, devices that have heard of everything agree, and
/// every write is there once, under its first name or a later one.
struct MembershipModelTests {
  private static let isLong = unsafe getenv("CAIRN_LONG") != nil

  private func explore(
    _ rules: CutRules = .real, devices: Int, writes: Int, cuts: Int, deaths: Int = 0,
    states: Int = .max
  ) -> CutExplorer.Counterexample? {
    var explorer = CutExplorer(rules)
    explorer.statesMax = states
    let found = explorer.run(
      CutWorld(devices: devices, writes: writes, cuts: cuts, deaths: deaths))
    #expect(found != nil || explorer.ends > 5, "it has hardly looked at anything")
    return found
  }

  private func walk(
    _ rules: CutRules, _ world: CutWorld, steps: Int, seeds: Range<UInt64>
  ) -> (UInt64, CutExplorer.Counterexample)? {
    for seed in seeds {
      var walk = CutWalk(rules, seed: seed)
      if let found = walk.run(world, steps: steps) { return (seed, found) }
    }
    return nil
  }

  @Test(arguments: [(2, 1, 2, 0), (2, 2, 1, 1), (3, 1, 1, 0)])
  func `every state of a small world is safe`(
    bounds: (devices: Int, writes: Int, cuts: Int, deaths: Int)
  ) {
    let found = explore(
      devices: bounds.devices, writes: bounds.writes, cuts: bounds.cuts, deaths: bounds.deaths)
    #expect(found == nil, "\(found.map { "\($0)" } ?? "")")
  }

  @Test(.enabled(if: isLong), arguments: [(2, 2, 2, 0), (2, 1, 2, 1), (3, 2, 1, 0), (2, 1, 3, 0)])
  func `every state of a larger world is safe`(
    bounds: (devices: Int, writes: Int, cuts: Int, deaths: Int)
  ) {
    let found = explore(
      devices: bounds.devices, writes: bounds.writes, cuts: bounds.cuts, deaths: bounds.deaths,
      states: 3_000_000)
    #expect(found == nil, "\(found.map { "\($0)" } ?? "")")
  }

  @Test(arguments: [(3, 4, 3, 0), (4, 5, 3, 0), (3, 4, 3, 1), (2, 5, 4, 0)])
  func `histories of larger worlds are safe`(
    bounds: (devices: Int, writes: Int, cuts: Int, deaths: Int)
  ) {
    let world = CutWorld(
      devices: bounds.devices, writes: bounds.writes, cuts: bounds.cuts, deaths: bounds.deaths)
    let found = walk(.real, world, steps: 40, seeds: 0..<(Self.isLong ? 20_000 : 60))
    #expect(found == nil, "\(found.map { "seed \($0.0): \($0.1)" } ?? "")")
  }

  // MARK: the checker itself

  @Test(arguments: [
    ("a member is not waited for", CutRules.withoutOneMember),
    ("strangers' deltas are applied", .admitsStrangers),
    ("a sealed cut still lets strangers' deltas in", .admitsSealed),
    ("a cut is applied on top of what it does not admit", .withoutGate),
    ("both of two groups give way", .bothYield),
  ])
  func `a planted error is found`(plant: (name: String, rules: CutRules)) {
    let world = CutWorld(devices: 3, writes: 3, cuts: 2)
    let found = walk(plant.rules, world, steps: 30, seeds: 0..<400)
    #expect(found != nil, "\(plant.name): nothing was found")
  }
}
