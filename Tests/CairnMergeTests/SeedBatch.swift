import Testing

/// Consecutive seeds of random histories.
struct SeedBatch {
  let seeds: Range<UInt64>

  init(_ number: Int, of count: UInt64) {
    let first = UInt64(number) * count
    seeds = first..<(first + count)
  }

  /// Stops at the first seed of which `body` says what is wrong.
  func check(_ body: (UInt64) -> String?) {
    for seed in seeds {
      if let problem = body(seed) {
        Issue.record("seed \(seed): \(problem)")
        return
      }
    }
  }

  /// Stops at the first seed for which `body` is false.
  func expect(_ body: (UInt64) -> Bool) { check { body($0) ? nil : "it does not hold" } }
}
