internal import CairnDisk
internal import Synchronization

/// How many change sets wait, and whether they may leave.
public struct OutboxStatus: Hashable, Sendable {
  /// Sets that are committed in their datastores and have not arrived in the folder yet.
  public var inFlight = 0
  /// Sets that were recorded and nothing more: they can still be rewritten by merges.
  public var queued = 0
  /// Sets that were recorded and can't be uploaded, as their mapping or their route is not there or
  /// their records can't be read: `ChangeSet.hold` says which.
  public var held = 0
  /// How often uploading was suspended and not resumed.
  public var suspendCount = 0

  /// Nothing waits, and nothing is suspended.
  public init() {}

  /// All three kinds.
  public var pending: Int { inFlight + queued + held }
  /// Whether uploading waits. Changes are recorded and merged all the same.
  public var isSuspended: Bool { suspendCount > 0 }
}

/// The status of a queue for everybody to see, and the counted switch that is part of it.
final class OutboxGate: Sendable {
  let news = Broadcast(latest: OutboxStatus.self)
  private let state: Lock<OutboxStatus>

  init(suspendCount: Int) {
    var status = OutboxStatus()
    status.suspendCount = max(0, suspendCount)
    state = Lock(status)
  }

  var status: OutboxStatus { state.withLock { $0 } }

  /// Returns the new count. It ends at the largest integer, and at 0.
  func suspend(by difference: Int) -> Int {
    change { status in
      let (sum, overflow) = status.suspendCount.addingReportingOverflow(difference)
      status.suspendCount = overflow ? (difference < 0 ? 0 : .max) : max(0, sum)
    }.suspendCount
  }

  func note(queued: Int, held: Int, inFlight: Int) {
    _ = change { ($0.queued, $0.held, $0.inFlight) = (queued, held, inFlight) }
  }

  private func change(_ change: (inout OutboxStatus) -> Void) -> OutboxStatus {
    let (before, after) = state.withLock { status in
      let before = status
      change(&status)
      return (before, status)
    }
    if before != after { news.send { status } }
    return after
  }
}
