internal import Cairn
internal import CairnDisk
internal import Synchronization

/// The credentials of a session. Their source is asked when they are needed, and again when they
/// were refused: once for all requests that wait for what it says.
final class KnownCredentials: Sendable {
  /// What the source has said.
  struct Answer: Sendable {
    var credentials: Credentials?
    /// How often it had been asked by then.
    var number = 0
  }

  /// What somebody who waits is told; nil: to ask again.
  private typealias Waiter = CheckedContinuation<Result<Answer, CairnError>?, Never>

  /// The source is being asked.
  private struct Question {
    let task: Task<Void, Never>
    /// Those who wait for what it says, by number.
    var waiting: [UInt64: Waiter] = [:]
    /// All who waited have left, and it was told to end. What it says is an answer all the same.
    var isLeft = false
  }

  private struct State {
    var answer = Answer()
    var question: Question?
    /// The number of whoever waited last.
    var lastWaiter: UInt64 = 0
  }

  private let state = Lock(State())
  private let source: CredentialSource
  private let takes: CredentialSource.Taking

  /// - Parameter takes: Whether the server knows what to do with such credentials.
  init(_ source: CredentialSource, _ takes: @escaping CredentialSource.Taking) {
    (self.source, self.takes) = (source, takes)
  }

  /// What the source has said after an answer that was refused. It is asked if that was the last.
  ///
  /// - Parameter number: That of the refused one; 0: any will do.
  /// - Throws: `cancelled` as soon as the task is, whatever the source does meanwhile.
  func answer(after number: Int) async throws(CairnError) -> Answer {
    while true {
      if let said = await wait(after: number) { return try said.get() }
    }
  }

  private func wait(after number: Int) async -> Result<Answer, CairnError>? {
    let own = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: Waiter) in
        begin(waiter, own, after: number)
      }
    } onCancel: {
      leave(own)
    }
  }

  private func begin(_ waiter: Waiter, _ own: UInt64, after number: Int) {
    let said = state.withLock { state -> Result<Answer, CairnError>? in
      if state.answer.number > number { return .success(state.answer) }
      // Whoever cancels after this finds the one who waits.
      if Task.isCancelled { return .failure(KnownCredentials.cancelled) }
      if state.question == nil { state.question = Question(task: ask()) }
      state.question?.waiting[own] = waiter
      return nil
    }
    if let said { waiter.resume(returning: said) }
  }

  private func ask() -> Task<Void, Never> {
    Task {
      do throws(CairnError) {
        self.end(.success(try await self.source.credentials(for: self.takes)))
      } catch { self.end(.failure(error)) }
    }
  }

  /// Tells all who wait what the source says. That it was told to end is no answer for those who
  /// came after that.
  private func end(_ result: Result<Credentials?, CairnError>) {
    var waiting: [UInt64: Waiter] = [:]
    let said = state.withLock { state -> Result<Answer, CairnError>? in
      let isLeft = state.question?.isLeft ?? false
      waiting = state.question?.waiting ?? [:]
      state.question = nil
      switch result {
      case .success(let credentials):
        state.answer = Answer(credentials: credentials, number: state.answer.number + 1)
        return .success(state.answer)
      case .failure(let error): return isLeft ? nil : .failure(error)
      }
    }
    for waiter in waiting.values { waiter.resume(returning: said) }
  }

  /// Whoever was cancelled waits no more; the last one cancels the question.
  private func leave(_ own: UInt64) {
    let (waiter, abandoned) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
      guard let waiter = state.question?.waiting.removeValue(forKey: own) else {
        return (nil, nil)
      }
      guard state.question?.waiting.isEmpty == true else { return (waiter, nil) }
      state.question?.isLeft = true
      return (waiter, state.question?.task)
    }
    abandoned?.cancel()
    waiter?.resume(returning: .failure(KnownCredentials.cancelled))
  }

  private static let cancelled = CairnError(
    .cancelled, "it was cancelled while it waited for credentials")
}
