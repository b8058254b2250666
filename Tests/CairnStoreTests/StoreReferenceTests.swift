import TestSupport
import Testing

/// Real stores against the naive reference, on random histories. A failure names its seed.
struct StoreReferenceTests {
  static let batches = Array(0..<8)
  static let historiesInBatch: UInt64 = 5

  @Test(arguments: batches)
  func `stores show what the reference shows, and end up identical`(batch: Int) {
    let first = UInt64(batch) * Self.historiesInBatch
    for seed in first..<(first + Self.historiesInBatch) {
      guard let failure = Self.failure(seed: seed) else { continue }
      Issue.record("seed \(seed): \(failure)")
      return
    }
  }

  /// What is wrong with a history, and how it came to that.
  static func failure(seed: UInt64) -> String? {
    var trace: [String] = []
    do {
      let simulation = try StoreSimulation(seed: seed)
      defer { trace = simulation.trace }
      try simulation.run(steps: 120)
      try simulation.exchangeAll()
      try simulation.checkConvergence()
      return nil
    } catch {
      return "\(error)\n" + trace.joined(separator: "\n")
    }
  }
}
