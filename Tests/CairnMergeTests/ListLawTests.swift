import CairnMerge
import Foundation
import TestSupport
import Testing

/// The laws of merging for lists, on thousands of random histories. A failure names its seed.
@Suite struct ListLawTests {
  static let batches = Array(0..<8)
  /// With CAIRN_LONG=1 in the environment there are many more.
  static let historiesInBatch: UInt64 =
    ProcessInfo.processInfo.environment["CAIRN_LONG"] == "1" ? 100 : 10

  /// All devices meet; they must agree to the byte.
  private func meet(_ simulation: inout ListSimulation) {
    simulation.deliverEverything()
    let states = simulation.replicas.map { $0.state(ListSimulation.record) }
    if !states.allSatisfy({ $0 == states[0] }) { simulation.note("devices differ") }
    if !states.allSatisfy({ $0.encoded == states[0].encoded }) { simulation.note("bytes differ") }
  }

  @Test(arguments: batches)
  func `one list that many edit is that of the reference`(batch: Int) {
    SeedBatch(batch, of: Self.historiesInBatch).check { seed in
      let style = ListSimulation.Style(puts: false, deletes: false, operations: 6)
      var simulation = ListSimulation(seed: seed, style: style)
      simulation.commit(at: 0)
      for index in simulation.replicas.indices.dropFirst() { simulation.receive(at: index) }
      simulation.run(steps: 30)
      meet(&simulation)
      return simulation.problem
    }
  }

  @Test(arguments: batches)
  func `lists that are put, created, edited and removed are those of the reference`(batch: Int) {
    SeedBatch(batch, of: Self.historiesInBatch).check { seed in
      var simulation = ListSimulation(seed: 10_000 + seed)
      simulation.run(steps: 36)
      meet(&simulation)
      return simulation.problem
    }
  }

  @Test(arguments: batches)
  func `lists that many create at once are those of the reference`(batch: Int) {
    SeedBatch(batch, of: Self.historiesInBatch).check { seed in
      let style = ListSimulation.Style(puts: seed % 2 == 0, deletes: false, operations: 3)
      var simulation = ListSimulation(seed: 20_000 + seed, style: style)
      for index in simulation.replicas.indices { simulation.commit(at: index) }
      simulation.run(steps: 36)
      meet(&simulation)
      return simulation.problem
    }
  }

  @Test(arguments: batches)
  func `join gives the lists of all deltas of both`(batch: Int) {
    SeedBatch(batch, of: Self.historiesInBatch).check { seed in
      var simulation = ListSimulation(seed: 30_000 + seed)
      simulation.run(steps: 24) { simulation, _ in
        for a in simulation.replicas.indices.prefix(3) {
          for b in simulation.replicas.indices.prefix(3) where a <= b {
            simulation.checkJoin(a, b)
          }
        }
      }
      return simulation.problem
    }
  }

  @Test(arguments: batches)
  func `join of lists is associative`(batch: Int) {
    SeedBatch(batch, of: Self.historiesInBatch).check { seed in
      var simulation = ListSimulation(seed: 40_000 + seed, devices: 3)
      simulation.run(steps: 30)
      let (a, b, c) = (simulation.replicas[0], simulation.replicas[1], simulation.replicas[2])
      if joined(joined(a, b), c) != joined(a, joined(b, c)) {
        simulation.note("the order of joins matters")
      }
      return simulation.problem
    }
  }

  @Test(arguments: batches)
  func `forgetting is never seen in lists`(batch: Int) {
    SeedBatch(batch, of: Self.historiesInBatch).check { seed in
      var simulation = ListSimulation(seed: 50_000 + seed)
      simulation.run(steps: 40) { simulation, index in
        // What all have seen, and all that is still on its way to this device.
        let own = simulation.replicas[index].horizon
        var fence = own.seen
        for replica in simulation.replicas { fence = fence.meet(replica.horizon.seen) }
        for delta in simulation.deltas where !own.seen.contains(delta.dot) {
          fence = fence.meet(delta.context)
        }
        if simulation.random.coin() { simulation.replicas[index].prune(fence) }
        simulation.check(index)
        let other = simulation.random.below(simulation.replicas.count)
        simulation.checkSight(joined(simulation.replicas[index], simulation.replicas[other]))
      }
      simulation.deliverEverything()
      for index in simulation.replicas.indices {
        simulation.replicas[index].prune(simulation.replicas[index].horizon.seen)
        simulation.check(index)
      }
      let states = simulation.replicas.map { $0.state(ListSimulation.record) }
      if !states.allSatisfy({ $0 == states[0] }) { simulation.note("devices differ") }
      return simulation.problem
    }
  }
}

extension ListSimulation {
  mutating func checkJoin(_ a: Int, _ b: Int) {
    let both = joined(replicas[a], replicas[b])
    var union = replicas[a]
    for delta in deltas where replicas[b].horizon.seen.contains(delta.dot) {
      if union.canApply(delta) { union.apply(delta) }
    }
    if both.records != union.records { note("a join of \(a) and \(b) is not the union") }
    if joined(replicas[b], replicas[a]).records != both.records { note("a join has a side") }
    checkSight(both)
  }

  /// A device that is none of ours sees the right thing, too.
  mutating func checkSight(_ replica: Replica) {
    replicas.append(replica)
    check(replicas.count - 1)
    replicas.removeLast()
  }
}
