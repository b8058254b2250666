/// How a field picks its visible value among concurrent writes. The raw values are stored.
package enum Rule: UInt8, Hashable, Sendable, CaseIterable {
  /// The write that was committed first; the default.
  case remote = 0
  /// The write that was committed last.
  case local = 1
  case max = 2
  case min = 3
  /// Numbers add up what was added to them.
  case sum = 4
}
