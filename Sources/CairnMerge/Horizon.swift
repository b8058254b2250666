/// How far a state reaches: the deltas in it, and the fence up to which it was pruned.
package struct Horizon: Hashable, Sendable {
  package var seen: VersionVector
  package var fence: VersionVector

  package init(seen: VersionVector, fence: VersionVector = VersionVector()) {
    self.seen = seen
    self.fence = fence
  }

  package func merged(with other: Horizon) -> Horizon {
    Horizon(seen: seen.merged(with: other.seen), fence: fence.merged(with: other.fence))
  }

  /// Whether content of a state with the horizon `other` was once in the state of this one, too.
  func knows(_ content: some Content, of other: Horizon) -> Bool {
    content.dot == Stamp.settled.dot ? seen.covers(other.fence) : seen.contains(content.dot)
  }
}
