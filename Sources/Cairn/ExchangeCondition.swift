internal import CairnDisk
internal import Synchronization

/// How the exchange of a datastore stands, as far as its status shows that.
final class ExchangeCondition: Sendable {
  struct State: Equatable {
    /// The last request to the folder succeeded.
    var isAnswering = false
    /// Rounds that run or wait for their turn.
    var rounds = 0
    /// Rounds run by themselves.
    var isInBackground = false
    /// Something in the folder is not here: true until a round has looked at all of it.
    var isMissing = true
    /// Something was fetched that a sync can incorporate.
    var hasIncoming = false
    /// How often something has come that a sync may take, or may take by now.
    var arrivals: UInt64 = 0
    /// Something was fetched that builds on what is nowhere yet.
    var isBlocked = false
    /// What other devices delete at once, and what waits for consent therefore.
    var massDelete: MassDelete?
    var uploadError: CairnError?
    var downloadError: CairnError?
  }

  private let state = Lock(State())
  /// What `isCalm` says: for each commit, which need not take the lock for that.
  private let calm = Atomic<Bool>(true)
  private let listener = Lock(Callback())

  var current: State { state.withLock { $0 } }

  /// What other devices delete at once, and what waits for consent therefore.
  var massDelete: MassDelete? { state.withLock { $0.massDelete } }

  /// Whether nothing that was fetched waits for a sync.
  var isCalm: Bool { calm.load(ordering: .acquiring) }

  /// What is called after changes, under no lock of this.
  func onChange(_ tell: @escaping @Sendable () -> Void) { listener.withLock { $0.call = tell } }

  func update(_ change: (inout State) -> Void) {
    if set(change) { tell() }
  }

  /// The same for those who hold a lock; they `tell` later. Returns whether anything changed.
  @discardableResult
  func set(_ change: (inout State) -> Void) -> Bool {
    state.withLock { state in
      let before = state
      change(&state)
      let isCalm = !state.hasIncoming && !state.isBlocked && state.massDelete == nil
      calm.store(isCalm, ordering: .releasing)
      return state != before
    }
  }

  func tell() {
    let tell = listener.withLock { $0.call }
    tell?()
  }

  // MARK: rounds

  /// Everything in the folder was looked at, and what is new was fetched, but for what is waited
  /// for.
  func noteFetched(isWaiting: Bool) {
    update { state in
      state.isMissing = isWaiting
      state.downloadError = nil
    }
  }

  /// A round ended before it had looked at everything. Nothing is published after that, either.
  func noteFetchFailed(_ error: CairnError) {
    if ExchangeCondition.saysNothing(error) { return }
    update { ($0.downloadError, $0.uploadError) = (error, error) }
  }

  func notePublished() {
    update { $0.uploadError = nil }
  }

  func notePublishFailed(_ error: CairnError) {
    if ExchangeCondition.saysNothing(error) { return }
    update { $0.uploadError = error }
  }

  /// Errors of whoever wanted the round to end, not of the folder.
  static func saysNothing(_ error: CairnError) -> Bool {
    error.code == .closed || error.code == .cancelled
  }
}
