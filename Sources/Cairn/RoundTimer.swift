internal import CairnDisk
internal import Synchronization

/// One alarm at a time: setting it anew takes the place of the one before, however much longer that
/// would have slept.
final class RoundTimer: Sendable {
  private let onTime: @Sendable () -> Void
  private let state = Lock(State())

  private struct State {
    var sleeper: Task<Void, Never>?
    var isOver = false
  }

  /// About three years. An app that wants no clock at all says infinity, for which there is no
  /// duration.
  private static let secondsMax = 1e8

  init(_ onTime: @escaping @Sendable () -> Void) { self.onTime = onTime }

  /// Goes off so many seconds from now, unless it is set again or stopped before.
  func set(seconds: Double) {
    let onTime = onTime
    let pause = Duration.seconds(max(0, min(seconds, RoundTimer.secondsMax)))
    let earlier = state.withLock { state -> Task<Void, Never>? in
      if state.isOver { return nil }
      let earlier = state.sleeper.take()
      state.sleeper = Task {
        do { try await Task.sleep(for: pause) } catch { return }
        onTime()
      }
      return earlier
    }
    earlier?.cancel()
  }

  /// Ends it, for good.
  func stop() {
    let sleeper = state.withLock { state in
      state.isOver = true
      return state.sleeper.take()
    }
    sleeper?.cancel()
  }
}
