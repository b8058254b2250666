internal import CairnDisk
internal import Synchronization

/// News of one kind, to be read with `for await`.
///
/// A subscription begins when the sequence is asked for, so nothing is missed before the loop
/// begins; every further loop over the same sequence has a subscription of its own, from then on.
/// What is not read yet is kept as one element, which stands for all that happened since the last:
/// a slow reader holds nobody up and takes no more and more memory. The sequence ends when its
/// source is closed or the reading task is cancelled; leaving the loop ends the subscription.
public struct Updates<Element: Sendable>: AsyncSequence, Sendable {
  /// Reading never throws.
  public typealias Failure = Never

  private let subscribe: @Sendable () -> Subscription<Element>
  private let first: First

  /// The subscription that the first loop takes over.
  private final class First: Sendable {
    let subscription: Lock<Subscription<Element>?>
    init(_ subscription: Subscription<Element>) { self.subscription = Lock(subscription) }

    func take() -> Subscription<Element>? { subscription.withLock { $0.take() } }
  }

  /// What a broadcast sends from now on, after what `current` gives.
  init(
    of broadcast: Broadcast<Element>,
    current: @escaping @Sendable () -> Element? = { nil }
  ) {
    subscribe = { broadcast.subscribe(current: current) }
    first = First(subscribe())
  }

  /// Begins to read.
  public func makeAsyncIterator() -> Iterator { Iterator(first.take() ?? subscribe()) }

  /// One loop's subscription; it ends with the iterator.
  public struct Iterator: AsyncIteratorProtocol {
    private let subscription: Subscription<Element>

    init(_ subscription: Subscription<Element>) { self.subscription = subscription }

    /// The next element; nil when the source was closed, or the task cancelled.
    public mutating func next() async -> Element? { await subscription.next() }

    /// The next element; nil when the source was closed, or the task cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async -> Element? {
      await subscription.next(isolation: actor)
    }
  }
}
