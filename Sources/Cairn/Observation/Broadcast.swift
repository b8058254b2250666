internal import CairnDisk
internal import Synchronization

/// Hands values to any number of subscribers, each of which has at most one waiting: what comes
/// while one waits is merged into it. So a subscriber that never reads costs a value, and whoever
/// sends never waits for one that reads slowly.
///
/// Order: values reach each subscriber in the order in which they were sent. Code of subscribers
/// never runs under a lock of the broadcast.
final class Broadcast<Value: Sendable>: Sendable {
  /// Puts what came later into what waits.
  let merge: @Sendable (inout Value, Value) -> Void
  /// Whether a value says nothing new to whoever had the other one last.
  let isRepeat: (@Sendable (Value, Value) -> Bool)?
  /// Takes the part that is to be read first out of what waits; returns nil with the last one.
  let split: (@Sendable (inout Value) -> Value?)?
  /// Called under the broadcast's lock with the first subscriber, and when the last has gone.
  private let onActivity: @Sendable (Bool) -> Void
  private let count = Atomic<Int>(0)
  private let state = Lock(State())

  private struct State {
    var mailboxes: [Mailbox<Value>] = []
    var isFinished = false
  }

  /// For events: all that was not read yet is merged into one.
  init(
    merge: @escaping @Sendable (inout Value, Value) -> Void,
    split: (@Sendable (inout Value) -> Value?)? = nil,
    onActivity: @escaping @Sendable (Bool) -> Void = { _ in }
  ) {
    self.merge = merge
    self.split = split
    isRepeat = nil
    self.onActivity = onActivity
  }

  /// For states: each replaces what was not read yet, and nobody reads the same twice in a row.
  init(
    latest _: Value.Type = Value.self, onActivity: @escaping @Sendable (Bool) -> Void = { _ in }
  ) where Value: Equatable {
    merge = { old, new in old = new }
    split = nil
    isRepeat = { $0 == $1 }
    self.onActivity = onActivity
  }

  /// For states of which not every part is news, or that say more than shows: `isRepeat` is given
  /// what was read last and what came since, and says whether that has no news.
  init(
    latest _: Value.Type = Value.self,
    isRepeat: @escaping @Sendable (Value, Value) -> Bool,
    onActivity: @escaping @Sendable (Bool) -> Void = { _ in }
  ) {
    merge = { old, new in old = new }
    split = nil
    self.isRepeat = isRepeat
    self.onActivity = onActivity
  }

  /// Whether anybody listens: one relaxed load, for those who would have to prepare something.
  var isActive: Bool { count.load(ordering: .relaxed) > 0 }

  var subscriberCount: Int { count.load(ordering: .relaxed) }

  /// Whether all subscribers that ask for values are waiting for one.
  var isAtRest: Bool {
    state.withLock { state in
      state.mailboxes.allSatisfy { $0.readerCount > 0 && $0.pendingCount == 0 }
    }
  }

  /// Sends what `make` returns, if anybody listens and it is not nil. `make` is called under the
  /// broadcast's lock, so that values made by several threads are sent in the order in which they
  /// were made; it must not use the broadcast.
  func send(_ make: () -> Value?) {
    if !isActive { return }
    let wakes = state.withLock { state -> [Wake] in
      guard !state.mailboxes.isEmpty, let value = make() else { return [] }
      return state.mailboxes.compactMap { $0.put(value) }
    }
    for wake in wakes { wake() }
  }

  /// A subscriber that asks for values. `current` (called as `make` is in `send`) gives the first
  /// one. The subscription ends when it is dropped, or its task cancelled.
  func subscribe(current: () -> Value? = { nil }) -> Subscription<Value> {
    let mailbox = Mailbox(self, schedule: nil) { _ in }
    add(mailbox, current)
    return Subscription(mailbox, of: self)
  }

  /// A subscriber that is called. `schedule` runs what it is given somewhere, soon; the handler is
  /// never called twice at once. The subscription ends when it is dropped, or with `end()`.
  func subscribe(
    on schedule: @escaping Scheduler, current: () -> Value? = { nil },
    _ handler: @escaping @Sendable (Value) -> Void
  ) -> Subscription<Value> {
    let mailbox = Mailbox(self, schedule: schedule, handler)
    add(mailbox, current)
    return Subscription(mailbox, of: self)
  }

  /// Lets a subscriber look for itself: `body` is given what waits for it and returns what all
  /// others are to be sent. In one with the broadcast's order: nothing is sent meanwhile.
  func catchUp(_ mailbox: Mailbox<Value>, _ body: (Value?) -> Value?) {
    let wakes = state.withLock { state -> [Wake] in
      guard let value = body(mailbox.takeAll()) else { return [] }
      return state.mailboxes.compactMap { $0 === mailbox ? nil : $0.put(value) }
    }
    for wake in wakes { wake() }
  }

  private func add(_ mailbox: Mailbox<Value>, _ current: () -> Value?) {
    let wake = state.withLock { state -> Wake? in
      if state.isFinished {
        mailbox.finish()
        return nil
      }
      state.mailboxes.append(mailbox)
      count.store(state.mailboxes.count, ordering: .relaxed)
      if state.mailboxes.count == 1 { onActivity(true) }
      return current().flatMap { mailbox.put($0) }
    }
    wake?()
  }

  func remove(_ mailbox: Mailbox<Value>) {
    // What a handler holds may end another subscription as it goes: not under the lock.
    let removed = state.withLock { state -> Mailbox<Value>? in
      guard let index = state.mailboxes.firstIndex(where: { $0 === mailbox }) else { return nil }
      let removed = state.mailboxes.remove(at: index)
      count.store(state.mailboxes.count, ordering: .relaxed)
      if state.mailboxes.isEmpty { onActivity(false) }
      return removed
    }
    // Also after the broadcast's end, when it is in no list any more.
    (removed ?? mailbox).cancel()
  }

  /// Ends all subscriptions, and all to come; what waits can still be read.
  func finish() {
    let mailboxes = state.withLock { state in
      state.isFinished = true
      defer { state.mailboxes = [] }
      count.store(0, ordering: .relaxed)
      if !state.mailboxes.isEmpty { onActivity(false) }
      return state.mailboxes
    }
    for mailbox in mailboxes { mailbox.finish() }
  }
}

/// Lets a subscriber go on; called when no lock is held.
typealias Wake = () -> Void
