/// A piece of a record that lives and dies by causality alone.
///
/// Content is *covered* by a later write whose author had seen it, and *killed* by a delete. Both
/// remember nothing but dots: see MERGE.md for why that is enough.
package protocol Content: Hashable, Sendable {
  /// The delta that wrote it.
  var stamp: Stamp { get set }
  /// The deletes that its incarnation of the record came after, sorted.
  var born: [Dot] { get set }
}

extension Content {
  package var dot: Dot { stamp.dot }
}

extension Array where Element: Content {
  mutating func removeAll(seenBy context: VersionVector) {
    removeAll { context.contains($0.dot) }
  }

  mutating func removeAll(killedBy tombstone: Tombstone) {
    removeAll { tombstone.coversBirth(of: $0.born) }
  }

  /// Forgets the births that lie behind a fence: every delete still to come has seen them.
  mutating func forgetBirths(behind fence: VersionVector) {
    for index in indices where self[index].born.contains(where: fence.contains) {
      self[index].born.removeAll(where: fence.contains)
    }
  }

  /// Adds content in commit order, in place of what the same delta wrote before.
  mutating func insert(inOrder new: Element) {
    let index = firstIndex { new.stamp <= $0.stamp } ?? endIndex
    if index < endIndex, self[index].stamp == new.stamp {
      self[index] = new
    } else {
      insert(new, at: index)
    }
  }
}
