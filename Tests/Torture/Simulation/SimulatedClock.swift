import CairnDisk
import Synchronization

/// A device's clock, which may jump. A jump counts once somebody has looked at the clock after it.
final class SimulatedClock: WallClock {
  private let time: Atomic<Int64>
  private let hasJumped = Atomic<Bool>(false)
  private let seen = Atomic<Int>(0)

  init(_ milliseconds: Int64) { time = Atomic(milliseconds) }

  /// How many jumps were seen.
  var jumps: Int { seen.load(ordering: .relaxed) }

  func now() -> Int64 {
    if hasJumped.exchange(false, ordering: .relaxed) { seen.wrappingAdd(1, ordering: .relaxed) }
    return time.load(ordering: .relaxed)
  }

  func set(_ milliseconds: Int64, isJump: Bool) {
    time.store(milliseconds, ordering: .relaxed)
    if isJump { hasJumped.store(true, ordering: .relaxed) }
  }
}
