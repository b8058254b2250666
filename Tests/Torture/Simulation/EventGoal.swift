import Synchronization

/// So many events, in so many seeds at least.
final class EventGoal: Sendable {
  private let events: Int
  private let seeds: Int
  private let done = Mutex((events: 0, seeds: 0))

  init(events: Int, seeds: Int) {
    self.events = events
    self.seeds = seeds
  }

  /// Counts a seed that had so many.
  func add(events: Int) {
    done.withLock {
      $0.events += events
      $0.seeds += 1
    }
  }

  var isReached: Bool { done.withLock { $0.events >= events && $0.seeds >= seeds } }
}
