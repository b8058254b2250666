internal import Synchronization

/// Something that happens once.
package final class Flag: Sendable {
  private let isRaised = Atomic<Bool>(false)

  package init() {}

  package var isUp: Bool { isRaised.load(ordering: .acquiring) }

  /// True for the first call only.
  @discardableResult
  package func raise() -> Bool { !isRaised.exchange(true, ordering: .acquiringAndReleasing) }
}
