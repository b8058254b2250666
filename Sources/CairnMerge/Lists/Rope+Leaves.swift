/// Leaves: making room in one, and putting two small ones together.
extension Rope {
  /// A leaf with fewer runs is put together with one beside it, if all fits with room to spare.
  private static let fewRuns = RopeBlocks.capacity / 4
  private static let mergedRuns = RopeBlocks.capacity * 3 / 4

  /// Makes room for `gap` runs, which the caller has to set, at a place, and splits the leaf if it
  /// is full. The place of the gap: the run before is in the same leaf still, unless the leaf was
  /// full, the place was its end and `isAppending` says that this is of no importance; then
  /// nothing needs to move.
  @inline(__always)
  mutating func open(
    _ place: RopePlace, gap: Int, isAppending: Bool = false
  ) -> RopePlace {
    var place = place
    let count = blocks.count(place.leaf)
    if count + gap > RopeBlocks.capacity {
      let isAtEnd = isAppending && place.run == count
      let middle = isAtEnd ? count : count / 2
      let right = splitLeaf(place.leaf, at: middle)
      if isAtEnd || place.run > middle {
        place = RopePlace(right, place.run - middle)
      }
    }
    blocks.openRuns(place.leaf, at: place.run, gap: gap)
    return place
  }

  /// Moves the runs from `index` on to a new leaf behind this one.
  private mutating func splitLeaf(_ leaf: UInt32, at index: Int) -> UInt32 {
    let right = blocks.allocate()
    let next = blocks.next(leaf)
    let moved = moveRuns(from: leaf, index, to: right)
    blocks.link(right, next)
    blocks.link(leaf, right)
    insertSibling(right, moved, after: leaf)
    cursor.noteSplit(leaf, at: index)
    return right
  }

  /// Moves the runs from `index` on to the end of another leaf. What was moved.
  private mutating func moveRuns(
    from source: UInt32, _ index: Int, to target: UInt32
  ) -> RopeSum {
    var moved = RopeSum()
    let end = blocks.count(source)
    var place = blocks.count(target)
    blocks.openRuns(target, at: place, gap: end - index)
    for number in index..<end {
      let run = blocks.run(source, number)
      blocks.setRun(target, place, run)
      assign(run.slots, to: target)
      moved &+= run.sum
      place += 1
    }
    blocks.setCount(source, index)
    return moved
  }

  /// Puts a leaf that lost a run together with a neighbour if both are small.
  @inline(__always)
  mutating func mergeIfSmall(_ leaf: UInt32) {
    if height > 0, blocks.count(leaf) < Rope.fewRuns { merge(leaf) }
  }

  @inline(never)
  private mutating func merge(_ leaf: UInt32) {
    let parent = blocks.parent(leaf)
    let index = blocks.index(leaf)
    let count = blocks.count(leaf)
    for left in [index, index - 1] where left >= 0 && left + 1 < blocks.count(parent) {
      let neighbour = blocks.child(parent, left == index ? index + 1 : left)
      if blocks.count(neighbour) + count <= Rope.mergedRuns {
        mergeLeaves(blocks.child(parent, left), blocks.child(parent, left + 1))
        return
      }
    }
    if count == 0 { dropLeaf(leaf) }
  }

  /// Moves all of a leaf into the one before it, which has the same parent.
  private mutating func mergeLeaves(_ left: UInt32, _ right: UInt32) {
    let moved = moveRuns(from: right, 0, to: left)
    blocks.add(moved, blocks.parent(left), blocks.index(left))
    dropLeaf(right)
  }

  /// Takes a leaf without runs out of the tree.
  private mutating func dropLeaf(_ leaf: UInt32) {
    blocks.link(blocks.previous(leaf), blocks.next(leaf))
    cursor.noteEnd(of: leaf)
    removeChild(leaf)
  }
}
