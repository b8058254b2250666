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

  private typealias Question = Task<Result<Answer, CairnError>, Never>

  private struct State {
    var answer = Answer()
    /// The source is being asked, for so many who wait.
    var question: (task: Question, waiting: Int)?
  }

  private enum Step {
    case known(Answer)
    case wait(Question)
    /// Nobody waits for it any more, but it has not ended yet.
    case over(Question)
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
  func answer(after number: Int) async throws(CairnError) -> Answer {
    while true {
      switch step(after: number) {
      case .known(let answer): return answer
      case .over(let task): _ = await task.value
      case .wait(let task):
        let result = await withTaskCancellationHandler {
          await task.value
        } onCancel: {
          leave(task)
        }
        return try result.get()
      }
    }
  }

  private func step(after number: Int) -> Step {
    state.withLock { state in
      if state.answer.number > number { return .known(state.answer) }
      guard let question = state.question else {
        let task = ask()
        state.question = (task, 1)
        return .wait(task)
      }
      if question.waiting == 0 { return .over(question.task) }
      state.question?.waiting += 1
      return .wait(question.task)
    }
  }

  private func ask() -> Question {
    Task {
      do throws(CairnError) {
        return .success(self.note(try await self.source.credentials(for: self.takes)))
      } catch {
        self.state.withLock { $0.question = nil }
        return .failure(error)
      }
    }
  }

  private func note(_ credentials: Credentials?) -> Answer {
    state.withLock { state in
      state.question = nil
      state.answer = Answer(credentials: credentials, number: state.answer.number + 1)
      return state.answer
    }
  }

  /// Whoever was cancelled waits no more; the last one cancels the question.
  private func leave(_ task: Question) {
    let isLast = state.withLock { state in
      guard state.question?.task == task else { return false }
      state.question?.waiting -= 1
      return state.question?.waiting == 0
    }
    if isLast { task.cancel() }
  }
}
