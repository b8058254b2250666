import CairnMerge
import TestSupport
import Testing

/// Forgetting behind the fence is never seen by anyone: the same histories, with devices that prune
/// at different moments and then go on writing, next to twins that get the same deltas and never
/// prune.
struct PruneLawTests {
  static let batches = Array(0..<8)
  static let historiesInBatch: UInt64 = 256

  /// A simulation whose devices prune, and a twin of each that does not.
  private struct Twins {
    var simulation: Simulation
    var whole: [Replica]
    var isLegal = true

    init(seed: UInt64) {
      simulation = Simulation(seed: seed)
      whole = simulation.replicas
    }

    /// `check` is called after every step with a device and its twin, up to date.
    mutating func run(steps: Int, check: (Simulation, Replica, Replica) -> Bool) -> Bool {
      var twins = whole
      var holds = true
      simulation.run(steps: steps) { simulation, index in
        twins[index].catchUp(with: simulation.replicas[index], simulation.deltas)
        let replica = simulation.replicas[index]
        let arrivals = simulation.deltas.filter { !replica.horizon.seen.contains($0.dot) }
        // No delta that is still to come may be concurrent to anything behind the fence.
        holds = holds && arrivals.allSatisfy { $0.context.covers(replica.horizon.fence) }
        if simulation.random.below(3) == 0 {
          simulation.replicas[index].prune(replica.stable(simulation.members))
        }
        holds = holds && check(simulation, simulation.replicas[index], twins[index])
      }
      whole = twins
      return holds
    }

    /// Whether anything was forgotten, or could have been.
    var hasFence: Bool { simulation.replicas.contains { !$0.horizon.fence.isEmpty } }

    mutating func finish() {
      simulation.deliverEverything()
      for index in whole.indices {
        whole[index].catchUp(with: simulation.replicas[index], simulation.deltas)
      }
    }
  }

  @Test(arguments: batches)
  func `pruned and whole devices see the same and meet at the same fence`(batch: Int) {
    var fences = 0
    SeedBatch(batch, of: Self.historiesInBatch).expect { seed in
      var twins = Twins(seed: seed)
      defer { fences += twins.hasFence ? 1 : 0 }
      return twins.run(steps: 40) { _, replica, whole in
        var whole = whole
        let sameSight = Simulation.records.allSatisfy {
          Sight(replica.state($0)) == Sight(whole.state($0))
        }
        whole.prune(replica.horizon.fence)
        var again = replica
        again.prune(replica.horizon.fence)
        return sameSight && again.records == whole.records
      }
    }
    #expect(fences > 20)
  }

  @Test(arguments: batches)
  func `when everything has arrived, all devices agree with the reference`(batch: Int) {
    SeedBatch(batch, of: Self.historiesInBatch).expect { seed in
      var twins = Twins(seed: seed)
      guard twins.run(steps: 40, check: { _, _, _ in true }) else { return false }
      twins.finish()
      let history = ReferenceHistory(twins.simulation.reference)
      var seen = VersionVector()
      for delta in twins.simulation.deltas { seen.insert(delta.dot) }
      let agree = twins.simulation.replicas.allSatisfy { replica in
        Simulation.records.allSatisfy {
          Sight(replica.state($0)) == Sight(history.view($0, seen: seen))
        }
      }
      var ends = twins.simulation.replicas + twins.whole
      for index in ends.indices { ends[index].prune(seen) }
      return agree && ends.allSatisfy { $0.records == ends[0].records } && isQuiet(ends[0])
    }
  }

  @Test(arguments: batches)
  func `pruned states join to what whole ones join to`(batch: Int) {
    SeedBatch(batch, of: Self.historiesInBatch).expect { seed in
      var twins = Twins(seed: seed)
      guard twins.run(steps: 40, check: { _, _, _ in true }) else { return false }
      let replicas = twins.simulation.replicas
      for a in replicas.indices {
        for b in replicas.indices where a != b {
          var whole = joined(twins.whole[a], twins.whole[b])
          let pruned = joined(replicas[a], replicas[b])
          whole.prune(pruned.horizon.fence)
          if whole != pruned || joined(replicas[b], replicas[a]) != pruned { return false }
        }
      }
      return true
    }
  }

  /// Behind a fence that has passed everything, only conflicts and counters remember anything.
  private func isQuiet(_ replica: Replica) -> Bool {
    replica.records.values.allSatisfy { state in
      state.tombstones.isEmpty && state.presences.allSatisfy { $0.stamp == .settled }
        && state.fields.values.allSatisfy { register in
          register.entries.count > 1 || !register.totals.isEmpty
            || register.only?.stamp == .settled
        }
    }
  }
}

extension Replica {
  /// Applies what a twin has applied.
  fileprivate mutating func catchUp(with twin: Replica, _ deltas: [WireDelta]) {
    // Deltas are listed in the order of their making, which is a causal one.
    for delta in deltas
    where twin.horizon.seen.contains(delta.dot) && !horizon.seen.contains(delta.dot) {
      apply(delta)
    }
  }
}
