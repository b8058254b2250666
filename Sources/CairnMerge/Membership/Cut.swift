/// A delta with which one device says to whom it listened so far: from it on, what was written
/// without it counts only if one of `members` wrote it or had heard of it in time.
///
/// Behind a cut that is sealed everything is stable (MERGE.md, section 7).
package struct Cut: Hashable, Sendable {
  /// The delta that carries it.
  package var dot: Dot
  /// Everything that its author had seen, the delta itself included.
  package var context: VersionVector
  /// The devices that may have written something without having seen it, sorted.
  package var members: [DeviceID]
  /// The cuts that it descends from, oldest first, itself last. Of two groups of devices that have
  /// cut each other off, the one with the greater line gives way.
  package var line: [Dot]
  /// The context of a delta by whose author all members were known to have applied the cut; nil as
  /// long as nobody knows.
  package var seal: VersionVector?

  package init(
    dot: Dot, context: VersionVector, members: [DeviceID], line: [Dot], seal: VersionVector? = nil
  ) {
    self.dot = dot
    self.context = context
    self.members = members
    self.line = line
    self.seal = seal
  }

  package var isSealed: Bool { seal != nil }

  /// The reserved table that cuts are records of.
  package static let table = ":cuts"
  /// How the ids of its other records begin, which say of a device that it is retired.
  package static let retirement = "r-"

  /// Entries of a line: the founder, and the last ones.
  package static let lineMax = 32

  /// Which of two lines goes on, whatever is added to either of them later: the first cut in which
  /// they differ decides. A line goes before its own beginning.
  package static func isBefore(_ a: [Dot], _ b: [Dot]) -> Bool {
    for (one, other) in zip(a, b) where one != other { return one < other }
    return a.count > b.count
  }
}
