internal import CairnDisk
internal import Synchronization

/// Lets one round run at a time, in the order in which they were asked for. Whoever is cancelled
/// cancels the round that was for them, and no other one.
final class ExchangeTurn: Sendable {
  private struct State {
    var last: Task<Void, Never>?
    var number: UInt64 = 0
    /// What cancels the rounds that run or wait.
    var cancels: [UInt64: @Sendable () -> Void] = [:]
  }
  private let state = Lock(State())

  func run<R: Sendable>(_ body: @escaping @Sendable () async -> R) async -> R {
    let (task, number) = enqueue(body)
    defer { state.withLock { _ = $0.cancels.removeValue(forKey: number) } }
    return await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Cancels all that run or wait: requests to servers end then, what is at home goes on to a good
  /// end.
  func cancel() {
    let all = state.withLock { Array($0.cancels.values) }
    for cancel in all { cancel() }
  }

  private func enqueue<R: Sendable>(
    _ body: @escaping @Sendable () async -> R
  ) -> (Task<R, Never>, UInt64) {
    state.withLock { state in
      let before = state.last
      let task = Task(executorPreference: RoundThreads.shared) {
        await before?.value
        return await body()
      }
      state.last = Task { _ = await task.value }
      state.number += 1
      state.cancels[state.number] = { task.cancel() }
      return (task, state.number)
    }
  }
}
