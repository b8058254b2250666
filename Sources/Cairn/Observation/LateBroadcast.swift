internal import CairnDisk
internal import Synchronization

/// A broadcast that is made for its first subscriber. Most datastores never have one, and the first
/// use of each kind of broadcast has the runtime make its types, which takes as long as a read.
struct LateBroadcast<Value: Sendable>: ~Copyable, Sendable {
  private let state = Lock(LateState())
  /// Asked with each change, and so without the lock.
  private let isMade = Atomic<Bool>(false)
  private let make: @Sendable () -> Broadcast<Value>

  init(_ make: @escaping @Sendable () -> Broadcast<Value>) { self.make = make }

  /// For those who subscribe.
  var value: Broadcast<Value> {
    state.withLock { state in
      if let known = state.made as? Broadcast<Value> { return known }
      let new = make()
      if state.isFinished { new.finish() }
      state.made = new
      isMade.store(true, ordering: .releasing)
      return new
    }
  }

  /// What was made for others, if there were any.
  private var made: Broadcast<Value>? {
    guard isMade.load(ordering: .acquiring), let made = state.withLock({ $0.made }) else {
      return nil
    }
    return made as? Broadcast<Value>
  }

  /// Whether anybody listens.
  var isActive: Bool { made?.isActive ?? false }

  /// Sends what `body` returns, if anybody listens.
  func send(_ body: () -> Value?) { made?.send(body) }

  /// Ends all subscriptions, and all to come.
  func finish() {
    state.withLock { $0.isFinished = true }
    made?.finish()
  }
}
