import CairnMerge
import TestSupport
import Testing

/// The laws of merging, on thousands of random histories. A failure names its seed.
struct MergeLawTests {
  static let batches = Array(0..<8)
  static let historiesInBatch: UInt64 = 400

  @Test(arguments: batches)
  func `every causal order gives the state of the reference`(batch: Int) {
    SeedBatch(batch, of: Self.historiesInBatch).expect { seed in
      var simulation = Simulation(seed: seed)
      simulation.run(steps: 24)
      let history = ReferenceHistory(simulation.reference)
      let copies = simulation.replicas + (0..<2).map { _ in simulation.replay() }
      return copies.allSatisfy { replica in
        Simulation.records.allSatisfy { record in
          let view = history.view(record, seen: replica.horizon.seen)
          let state = replica.state(record)
          return state == view.state && Sight(state) == Sight(view)
        }
      }
    }
  }

  @Test(arguments: batches)
  func `join is commutative, associative and idempotent`(batch: Int) {
    SeedBatch(batch, of: Self.historiesInBatch).expect { seed in
      var simulation = Simulation(seed: seed, devices: 3)
      simulation.run(steps: 24)
      let (a, b, c) = (simulation.replicas[0], simulation.replicas[1], simulation.replicas[2])
      return joined(a, b) == joined(b, a)
        && joined(joined(a, b), c) == joined(a, joined(b, c))
        && joined(a, a) == a && joined(joined(a, b), b) == joined(a, b)
    }
  }

  @Test(arguments: batches)
  func `join gives the state of all deltas of both`(batch: Int) {
    SeedBatch(batch, of: Self.historiesInBatch).expect { seed in
      var simulation = Simulation(seed: seed)
      simulation.run(steps: 24)
      let history = ReferenceHistory(simulation.reference)
      let both = joined(simulation.replicas[0], simulation.replicas[1])
      return Simulation.records.allSatisfy { record in
        both.state(record) == history.view(record, seen: both.horizon.seen).state
      }
    }
  }
}

func joined(_ a: Replica, _ b: Replica) -> Replica {
  var result = a
  result.join(b)
  return result
}

extension Replica: Equatable {
  /// The same state of the same deltas, whoever holds it.
  static func == (a: Replica, b: Replica) -> Bool {
    a.records == b.records && a.horizon == b.horizon
  }
}
