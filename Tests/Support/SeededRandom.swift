internal import CairnDisk
internal import Synchronization

/// Random numbers that are the same for the same seed (splitmix64), for simulations and choices.
package final class SeededRandom: RandomSource, RandomNumberGenerator {
  private let state: Atomic<UInt64>

  package init(_ seed: UInt64) {
    state = Atomic(seed)
  }

  package func next() -> UInt64 {
    var word = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  /// True half the time.
  package func coin() -> Bool { next() >> 63 == 1 }

  /// A number from 0 up to, not including, `count`.
  package func below(_ count: Int) -> Int {
    Int(truncatingIfNeeded: next() % UInt64(count))
  }

  /// Letters that no compression makes much of.
  package func text(_ count: Int) -> String {
    String(decoding: (0..<count).map { _ in UInt8(33 + below(94)) }, as: UTF8.self)
  }

  package func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 32) }
  }
}
