package import CairnBytes
package import CairnMerge

/// What a sync did.
package struct SyncOutcome: Sendable {
  package struct Changed: Hashable, Sendable {
    package var table: String
    package var id: RecordName
    package var isDeleted: Bool
  }

  package struct Conflict: Sendable {
    package var table: String
    package var id: RecordName
    package var conflict: FieldConflict
    /// The record does not tell of it: it is here or nowhere.
    package var isOnlyHere = false
  }

  /// The own delta, nil if there was nothing to commit.
  package var committed: Dot?
  /// Deltas of other devices that became visible.
  package var appliedCount = 0
  /// For each pack: the last sequence that is in the state now, 0 if none of it was applied.
  package var appliedLast: [UInt64] = []
  /// Packs whose bytes are wrong, by index: nothing of them was applied.
  package var failures: [Int: DecodeError] = [:]
  package var changed: [Changed] = []
  /// The state came as a whole: all its records have changed, besides those that are listed.
  package var arrived: ArrivedRecords?
  package var conflicts: [Conflict] = []
  /// The name that this device got, if it had to take another one.
  package var newDevice: DeviceID?
  /// Packs of which something waits for nothing but a cut, by index, and for which.
  package var held: [Int: Cut] = [:]
  /// Packs of which a delta can't be what it says, by index, and why. Nothing that follows it there
  /// is applied.
  package var refused: [Int: String] = [:]
  /// The cut that this device has to give way to: others go on without what only it has.
  package var cutOff: Cut?
  /// What a list would say now, if it may have changed.
  package var summary: StoreSummary?

  package init() {}

  /// Counts on. A snapshot of others may say that it has any number of deltas.
  package mutating func addApplied(_ count: Int) {
    let (sum, isBeyond) = appliedCount.addingReportingOverflow(count)
    appliedCount = isBeyond ? .max : sum
  }

  /// What a snapshot with so many deltas adds: deltas that come after it still count.
  package static func share(of deltas: UInt64) -> Int { Int(min(deltas, 1 << 48)) }
}
