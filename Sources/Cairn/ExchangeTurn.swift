internal import CairnDisk
internal import Synchronization

/// Lets one round run at a time, in the order in which they were asked for. Whoever is cancelled
/// cancels the round that was for them, and no other one; a round that has not begun never does
/// then, and nobody waits for those before it.
final class ExchangeTurn: Sendable {
  private struct State {
    var last: Task<Void, Never>?
    var number: UInt64 = 0
    /// Rounds that have not begun, and that nobody has given up.
    var waiting: Set<UInt64> = []
    /// What cancels the rounds that run or wait.
    var cancels: [UInt64: @Sendable () -> Void] = [:]
  }
  private let state = Lock(State())
  private let threads: RoundThreads?

  /// - Parameter onRoundThreads: Whether what runs works with a folder itself. An actor's code must
  ///   not run there: the actor would go on on these threads, and with it all that others ask of it
  ///   would wait for folders that do not come back.
  init(onRoundThreads: Bool = true) { threads = onRoundThreads ? .shared : nil }

  func run<R: Sendable>(
    _ body: @escaping @Sendable () async -> Result<R, CairnError>
  ) async -> Result<R, CairnError> {
    if Task.isCancelled { return .failure(ExchangeTurn.givenUp) }
    let (task, number, beginning) = enqueue(body)
    defer { state.withLock { _ = $0.cancels.removeValue(forKey: number) } }
    return await withTaskCancellationHandler {
      if let beginning {
        // Until it begins, or this task is cancelled.
        for await _ in beginning {}
        if takeOff(number) { return .failure(ExchangeTurn.givenUp) }
      }
      return await task.value
    } onCancel: {
      task.cancel()
    }
  }

  private static let givenUp = CairnError(
    .cancelled, "it was cancelled before its turn came; nothing of it was done")

  /// Cancels all that run or wait: requests to servers end then, what is at home goes on to a good
  /// end. What waits says so itself when its turn comes.
  func cancel() {
    let all = state.withLock { Array($0.cancels.values) }
    for cancel in all { cancel() }
  }

  /// Also returns what ends when the round begins; nil if there is nobody to wait for.
  private func enqueue<R: Sendable>(
    _ body: @escaping @Sendable () async -> Result<R, CairnError>
  ) -> (Task<Result<R, CairnError>, Never>, UInt64, AsyncStream<Never>?) {
    state.withLock { state in
      let before = state.last
      let (beginning, begin) =
        state.cancels.isEmpty ? (nil, nil) : ExchangeTurn.makeBeginning()
      state.number += 1
      let number = state.number
      state.waiting.insert(number)
      let task = Task(executorPreference: threads) { [self] () async -> Result<R, CairnError> in
        await before?.value
        guard takeOff(number) else { return .failure(ExchangeTurn.givenUp) }
        begin?.finish()
        return await body()
      }
      state.last = Task { _ = await task.value }
      state.cancels[number] = { task.cancel() }
      return (task, number, beginning)
    }
  }

  private static func makeBeginning()
    -> (AsyncStream<Never>?, AsyncStream<Never>.Continuation?)
  {
    let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
    return (stream, continuation)
  }

  /// Takes a round out of those that wait; false if somebody else has done so: it has begun, or
  /// never will.
  private func takeOff(_ number: UInt64) -> Bool {
    state.withLock { $0.waiting.remove(number) != nil }
  }
}
