/// A handler that is called with news, as long as somebody holds this.
///
/// Ends with `cancel()`, or when the last reference goes. Thread-safe.
public final class Observation: Sendable {
  private let end: @Sendable () -> Void

  init<Value: Sendable>(_ subscription: Subscription<Value>) { end = { subscription.end() } }

  /// Ends it: the handler is not called again. A call that is running on another thread may end
  /// after this returns. Cancelling twice does nothing.
  public func cancel() { end() }

  deinit { end() }
}

/// Runs what it is given somewhere, soon: `{ DispatchQueue.main.async(execute: $0) }`, for example.
public typealias Scheduler = @Sendable (@escaping @Sendable () -> Void) -> Void
