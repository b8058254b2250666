/// One subscriber's end of a broadcast. Dropping it ends it.
final class Subscription<Value: Sendable>: Sendable {
  private let mailbox: Mailbox<Value>
  private let broadcast: Broadcast<Value>

  init(_ mailbox: Mailbox<Value>, of broadcast: Broadcast<Value>) {
    self.mailbox = mailbox
    self.broadcast = broadcast
  }

  deinit { end() }

  /// 0 or 1: what is not read yet is one value, whatever it was made of.
  var pendingCount: Int { mailbox.pendingCount }

  /// How many wait for a value.
  var readerCount: Int { mailbox.readerCount }

  /// The next value, once there is one; nil if the broadcast is finished, or the task cancelled.
  func next(isolation: isolated (any Actor)? = #isolation) async -> Value? {
    await withTaskCancellationHandler(
      operation: {
        await withCheckedContinuation(isolation: isolation) { mailbox.read($0) }
      }, onCancel: { end() }, isolation: isolation)
  }

  /// As the broadcast's `catchUp`, for this subscriber.
  func catchUp(_ body: (Value?) -> Value?) { broadcast.catchUp(mailbox, body) }

  /// Ends the subscription: nothing is read any more, and no handler called that is not running.
  func end() { broadcast.remove(mailbox) }
}
