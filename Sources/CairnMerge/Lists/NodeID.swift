/// A node of a list by name: the delta that made it, and its number there.
///
/// Number 0 of a delta that puts or creates a list is the list's root; its items follow. A delta
/// that edits lists numbers what it adds from 0.
package struct NodeID: Hashable, Sendable {
  package var dot: Dot
  package var index: UInt32

  package init(_ dot: Dot, _ index: UInt32) {
    self.dot = dot
    self.index = index
  }

  /// A number that no node has. What hangs on a node of that number is nowhere, and only counts.
  package static let nowhere: UInt32 = (1 << 30) - 1
}

extension NodeID: Comparable {
  package static func < (a: NodeID, b: NodeID) -> Bool {
    a.dot == b.dot ? a.index < b.index : a.dot < b.dot
  }
}
