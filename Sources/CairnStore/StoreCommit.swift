package import CairnMerge

/// What a commit did.
package struct StoreCommit: Sendable {
  /// The own delta, nil if there was nothing to commit.
  package var dot: Dot?
  /// What a list would say now, if it may have changed.
  package var summary: StoreSummary?
}
