internal import CairnDisk
internal import Synchronization

/// A clock that shows what it is told to, forwards and backwards.
package final class ManualClock: WallClock {
  private let time: Atomic<Int64>

  package init(_ milliseconds: Int64 = 1_700_000_000_000) {
    time = Atomic(milliseconds)
  }

  package func now() -> Int64 { time.load(ordering: .relaxed) }

  package func set(_ milliseconds: Int64) { time.store(milliseconds, ordering: .relaxed) }

  package func advance(by milliseconds: Int64) {
    time.wrappingAdd(milliseconds, ordering: .relaxed)
  }
}
