internal import CairnDisk
internal import Synchronization

/// Joins all wishes for a save into one that is to come.
final class CDBSaveTimer: Sendable {
  private struct Waiting {
    /// Tells one wait from those before: one that could not be cancelled in time does nothing.
    var number: UInt64
    var isSoon: Bool
    /// Nil until the wait has begun.
    var cancel: CDBDelay.Action?
  }

  private struct State {
    var waiting: Waiting?
    var count: UInt64 = 0
    var isStopped = false
  }

  private let delay: CDBDelay
  private let state = Lock(State())

  init(_ delay: CDBDelay) { self.delay = delay }

  /// Calls `action` after the delay, unless it is going to be called anyway. A wish for `soon` goes
  /// before one that can wait.
  func ask(after duration: Duration, soon: Bool, _ action: @escaping CDBDelay.Action) {
    let (number, old) = state.withLock { state -> (UInt64?, CDBDelay.Action?) in
      if state.isStopped { return (nil, nil) }
      if let waiting = state.waiting, waiting.isSoon || !soon { return (nil, nil) }
      let old = state.waiting?.cancel
      state.count += 1
      state.waiting = Waiting(number: state.count, isSoon: soon)
      return (state.count, old)
    }
    old?()
    guard let number else { return }
    let cancel = delay.start(duration) { [weak self] in
      if self?.begin(number) == true { action() }
    }
    state.withLock { state in
      if state.waiting?.number == number { state.waiting?.cancel = cancel }
    }
  }

  /// Whether a wait that has ended is the one that counts; the next wish begins another.
  private func begin(_ number: UInt64) -> Bool {
    state.withLock { state in
      guard state.waiting?.number == number else { return false }
      state.waiting = nil
      return true
    }
  }

  /// Forgets what waits. `forGood`: until `restart`, nothing waits any more.
  func cancel(forGood: Bool) {
    let old = state.withLock { state -> CDBDelay.Action? in
      defer { state.waiting = nil }
      state.isStopped = forGood
      return state.waiting?.cancel
    }
    old?()
  }

  func restart() { state.withLock { $0.isStopped = false } }
}
