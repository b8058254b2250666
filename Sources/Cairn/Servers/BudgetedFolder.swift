/// How a budget stands against what is written.
package enum BudgetNeed: Sendable {
  /// It waits until the hour has room for it.
  case waits
  /// Nothing smaller can be made of it: if no hour has room for it, it goes in one of which at
  /// least half is unused.
  case indivisible
  /// It names what has gone like that: without it nobody would look there.
  case naming
}

/// A folder whose requests are counted against a budget.
package protocol BudgetedFolder: Folder {
  /// The same as `write(_:_:)`.
  func write(
    _ path: String, _ bytes: [UInt8], need: BudgetNeed
  ) async throws(CairnError) -> FolderEntry
}
