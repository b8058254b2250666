import CairnBytes

/// What one delta does to one list: the smallest set of changes with the same effect.
///
/// Everything is said by node names and never by position, so that it means the same whatever
/// others have done meanwhile.
package struct ListEdit: Hashable, Sendable {
  /// On which side of its parent a node hangs in the tree of a list. Embedded in formats.
  package enum Side: UInt8, Hashable, Sendable {
    case right = 0
    case left = 1
  }

  /// Nodes that follow one another: the first hangs on its parent, each other one to the right of
  /// the one before it.
  package struct Chain: Hashable, Sendable {
    package var parent: NodeID
    package var side: Side
    package var count: UInt32
    /// Which of them are new places of items that were there before, by number in the chain. The
    /// others are new items.
    package var moves: [Move]

    package init(parent: NodeID, side: Side, count: UInt32, moves: [Move] = []) {
      self.parent = parent
      self.side = side
      self.count = count
      self.moves = moves
    }
  }

  package struct Move: Hashable, Sendable {
    package var offset: UInt32
    package var item: NodeID

    package init(offset: UInt32, item: NodeID) {
      self.offset = offset
      self.item = item
    }
  }

  /// Items with consecutive numbers of one delta.
  package struct Span: Hashable, Sendable {
    package var first: NodeID
    package var count: UInt32

    package init(first: NodeID, count: UInt32) {
      self.first = first
      self.count = count
    }

    /// Whether another one comes behind this one, and is none of it.
    func isBefore(_ other: Span) -> Bool {
      first.dot == other.first.dot
        ? first.index + count <= other.first.index : first.dot < other.first.dot
    }
  }

  package var chains: [Chain] = []
  /// Values of the new items, in the order of the chains.
  package var inserted = ListItems()
  package var deleted: [Span] = []
  /// Items that get other values.
  package var replaced: [NodeID] = []
  /// Those values, in the same order.
  package var replacements = ListItems()

  package init() {}

  package var isEmpty: Bool { chains.isEmpty && deleted.isEmpty && replaced.isEmpty }

  /// Whether the memory that it takes is little enough to be kept for the next one.
  package var takesLittle: Bool {
    nodeCount + deleted.count + replaced.count <= 1024
      && inserted.heap.count + replacements.heap.count <= 64 << 10
  }

  /// Empties it and keeps the memory: edits of one keystroke are made by the thousand.
  mutating func removeAll() {
    chains.clear()
    inserted.removeAll()
    deleted.clear()
    if replaced.isEmpty { return }
    replaced.clear()
    replacements.removeAll()
  }

  /// How many nodes it adds.
  package var nodeCount: Int { chains.reduce(0) { $0 + Int($1.count) } }

  /// Whether it begins with numbers that nodes of another list have.
  package var isNumberedOn: Bool { chains.first?.isNowhere ?? false }

  /// Lets its new nodes have the numbers from `count` on, `root` being where its list began. A name
  /// is a delta and a number: two lists of one field that the same delta edits must not both have
  /// nodes of that name.
  package mutating func numberOn(from count: Int, root: Dot) {
    if count == 0 || chains.isEmpty { return }
    chains.insert(
      Chain(parent: NodeID(root, NodeID.nowhere), side: .right, count: UInt32(count)), at: 0)
    let own = inserted
    inserted = ListItems()
    for _ in 0..<count { inserted.append(.bool(false)) }
    for index in 0..<own.count { inserted.append(index, of: own) }
  }
}

extension ListEdit.Chain {
  /// Its nodes are no items of any list: they are there for the numbers that follow theirs.
  var isNowhere: Bool { parent.index == NodeID.nowhere }
}
