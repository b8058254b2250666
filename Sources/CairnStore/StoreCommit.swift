package import CairnMerge

/// What a commit did.
package struct StoreCommit: Sendable {
  /// The own delta, nil if there was nothing to commit.
  package var dot: Dot?
  /// What a list would say now, if the title may be another one. What else a commit changes there
  /// is asked for when it is needed: `Store.committed`.
  package var summary: StoreSummary?
}
