import CairnBytes

/// What one delta does to a list that nobody else edits: by position, since there is nothing to
/// merge with.
package struct ListSplices: Hashable, Sendable {
  /// Steps over items, takes some out, puts some in.
  package struct Step: Hashable, Sendable {
    package var skipped: Int
    package var deleted: Int
    package var inserted: Int

    package init(skipped: Int, deleted: Int, inserted: Int) {
      self.skipped = skipped
      self.deleted = deleted
      self.inserted = inserted
    }
  }

  /// From the start of the list to its end.
  package var steps: [Step] = []
  /// The values that are put in, in order.
  package var inserted = ListItems()

  package init() {}

  package var isEmpty: Bool { steps.isEmpty }

  /// Empties it and keeps the memory.
  mutating func removeAll() {
    steps.clear()
    inserted.removeAll()
  }

  /// How long a list has to be for all steps to be inside it.
  package var reach: Int { steps.reduce(0) { $0 + $1.skipped + $1.deleted } }
}
