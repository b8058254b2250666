internal import CairnDisk
internal import Synchronization

/// Who is told what came of the rounds that run by themselves: whoever asked last.
final class ReportHandler<Report: Sendable>: Sendable {
  typealias Handler = @Sendable (Result<Report, CairnError>) -> Void

  private let state: Lock<State>

  /// In a structure, for the reason that `Callback` has.
  private struct State {
    var handler: Handler?
  }

  init(_ handler: Handler?) { state = Lock(State(handler: handler)) }

  /// Puts another one in the place of the one before; nil leaves that as it is.
  func replace(with handler: Handler?) {
    guard let handler else { return }
    // What the earlier one holds may do anything as it goes: not under the lock.
    _ = state.withLock { state in
      defer { state.handler = handler }
      return state
    }
  }

  func tell(_ result: Result<Report, CairnError>) {
    let state = state.withLock { $0 }
    state.handler?(result)
  }
}
