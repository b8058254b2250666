internal import CairnDisk
internal import Synchronization

/// What waits for one subscriber of a broadcast: at most one value.
///
/// Either readers ask for values, or a handler is scheduled when there is one.
final class Mailbox<Value: Sendable>: Sendable {
  private let merge: @Sendable (inout Value, Value) -> Void
  private let isRepeat: (@Sendable (Value, Value) -> Bool)?
  private let split: (@Sendable (inout Value) -> Value?)?
  private let schedule: Scheduler?
  private let handler: @Sendable (Value) -> Void
  private let state = Lock(State())

  private struct State {
    var pending: Value?
    /// What was read last, where nothing is to be read twice in a row.
    var last: Value?
    var readers: [CheckedContinuation<Value?, Never>] = []
    /// The handler is scheduled, or runs.
    var isScheduled = false
    /// The scheduler was called and has not returned.
    var isHandingOver = false
    /// It is to be called again when it has.
    var mustHandOver = false
    /// Nothing more will come.
    var isFinished = false
    /// Nobody wants what waits any more.
    var isCancelled = false
  }

  init(
    _ broadcast: Broadcast<Value>, schedule: Scheduler?,
    _ handler: @escaping @Sendable (Value) -> Void
  ) {
    merge = broadcast.merge
    isRepeat = broadcast.isRepeat
    split = broadcast.split
    self.schedule = schedule
    self.handler = handler
  }

  /// 0 or 1.
  var pendingCount: Int { state.withLock { $0.pending == nil ? 0 : 1 } }

  /// How many wait for a value.
  var readerCount: Int { state.withLock { $0.readers.count } }

  /// Adds a value to what waits. The result is to be called when no lock is held.
  func put(_ value: Value) -> Wake? {
    state.withLock { state in
      if state.isFinished || state.isCancelled { return nil }
      if var waiting = state.pending.take() {
        merge(&waiting, value)
        state.pending = waiting
      } else {
        state.pending = value
      }
      if schedule != nil {
        guard !state.isScheduled, hasNews(&state) else { return nil }
        state.isScheduled = true
        return { self.scheduleHandler() }
      }
      var served: [(CheckedContinuation<Value?, Never>, Value)] = []
      while !state.readers.isEmpty, let value = take(&state) {
        served.append((state.readers.removeFirst(), value))
      }
      if served.isEmpty { return nil }
      return { [served] in for (reader, value) in served { reader.resume(returning: value) } }
    }
  }

  /// Gives the reader a value: what waits at once, or else the next one.
  func read(_ reader: CheckedContinuation<Value?, Never>) {
    let wake = state.withLock { state -> Wake? in
      if state.isCancelled { return { reader.resume(returning: nil) } }
      if let value = take(&state) { return { reader.resume(returning: value) } }
      if state.isFinished { return { reader.resume(returning: nil) } }
      state.readers.append(reader)
      return nil
    }
    wake?()
  }

  /// Nothing more comes; what waits can still be read.
  func finish() {
    release { $0.isFinished = true }
  }

  /// The subscriber has gone.
  func cancel() {
    release { state in
      state.isCancelled = true
      state.pending = nil
      state.last = nil
    }
  }

  private func release(_ change: (inout State) -> Void) {
    let readers = state.withLock { state in
      change(&state)
      defer { state.readers = [] }
      return state.readers
    }
    for reader in readers { reader.resume(returning: nil) }
  }

  // MARK: taking

  /// Drops what waits if it says nothing new. Returns whether something still waits.
  private func hasNews(_ state: inout State) -> Bool {
    guard let pending = state.pending else { return false }
    guard let isRepeat, let last = state.last, isRepeat(last, pending) else { return true }
    state.pending = nil
    return false
  }

  /// All that waits, its parts together.
  func takeAll() -> Value? { state.withLock { $0.pending.take() } }

  private func take(_ state: inout State) -> Value? {
    guard hasNews(&state), var value = state.pending else { return nil }
    state.pending = nil
    if let split { state.pending = split(&value) }
    if isRepeat != nil { state.last = value }
    return value
  }

  // MARK: the handler

  private func scheduleHandler() {
    guard let schedule else { return }
    var isAgain = true
    while isAgain {
      state.withLock { $0.isHandingOver = true }
      schedule { self.runHandler() }
      isAgain = state.withLock { state in
        state.isHandingOver = false
        defer { state.mustHandOver = false }
        return state.mustHandOver
      }
    }
  }

  private func runHandler() {
    if let value = state.withLock({ take(&$0) }) { handler(value) }
    let isAgain = state.withLock { state in
      state.isScheduled = hasNews(&state)
      // A scheduler that calls there and then is called again when it has returned, and not from
      // within: each call would stand on the one before.
      state.mustHandOver = state.isScheduled && state.isHandingOver
      return state.isScheduled && !state.isHandingOver
    }
    // Anew rather than in a loop: others may wait for the queue, too.
    if isAgain { scheduleHandler() }
  }
}
