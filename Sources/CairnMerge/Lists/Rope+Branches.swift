/// Branches: the tree above the leaves.
extension Rope {
  /// The contents of a leaf grew by a sum, or shrank.
  @inline(__always)
  mutating func add(_ change: RopeSum, to leaf: UInt32) {
    total &+= change
    if height > 0 { blocks.add(change, above: leaf, height: height) }
  }

  /// Makes a block the next child of the parent of `left`, from which `sum` was moved to it.
  mutating func insertSibling(_ block: UInt32, _ sum: RopeSum, after left: UInt32) {
    if left == root {
      root = blocks.allocate()
      blocks.setChild(root, 0, left, total)
      blocks.setCount(root, 1)
      height += 1
    }
    if blocks.count(blocks.parent(left)) == RopeBlocks.fanout {
      splitBranch(blocks.parent(left))
    }
    let parent = blocks.parent(left)
    let index = blocks.index(left)
    let count = blocks.count(parent)
    for place in stride(from: count, to: index + 1, by: -1) {
      blocks.setChild(
        parent, place, blocks.child(parent, place - 1), blocks.sum(parent, place - 1))
    }
    blocks.add(RopeSum() &- sum, parent, index)
    blocks.setChild(parent, index + 1, block, sum)
    blocks.setCount(parent, count + 1)
  }

  private mutating func splitBranch(_ branch: UInt32) {
    let right = blocks.allocate()
    let moved = moveChildren(from: branch, blocks.count(branch) / 2, to: right)
    insertSibling(right, moved, after: branch)
  }

  /// Moves the children from `index` on to the end of another branch. The sum of what was moved.
  private mutating func moveChildren(
    from source: UInt32, _ index: Int, to target: UInt32
  ) -> RopeSum {
    var moved = RopeSum()
    var place = blocks.count(target)
    for number in index..<blocks.count(source) {
      let sum = blocks.sum(source, number)
      blocks.setChild(target, place, blocks.child(source, number), sum)
      moved &+= sum
      place += 1
    }
    blocks.setCount(target, place)
    blocks.setCount(source, index)
    return moved
  }

  /// Takes a block without contents, which is not the root, out of the tree.
  mutating func removeChild(_ block: UInt32) {
    let parent = blocks.parent(block)
    let last = blocks.count(parent) - 1
    for place in blocks.index(block)..<last {
      blocks.setChild(
        parent, place, blocks.child(parent, place + 1), blocks.sum(parent, place + 1))
    }
    blocks.setCount(parent, last)
    blocks.release(block)
    if parent == root {
      // A root with one child is no use.
      while height > 0, blocks.count(root) == 1 {
        let child = blocks.child(root, 0)
        blocks.release(root)
        root = child
        blocks.setParent(root, RopeBlocks.none, index: 0)
        height -= 1
      }
    } else if last == 0 {
      removeChild(parent)
    } else if last < RopeBlocks.fanout / 4 {
      mergeBranch(parent)
    }
  }

  /// Puts a branch together with one beside it if all fits with room to spare.
  private mutating func mergeBranch(_ branch: UInt32) {
    let parent = blocks.parent(branch)
    let index = blocks.index(branch)
    for left in [index, index - 1] where left >= 0 && left + 1 < blocks.count(parent) {
      let target = blocks.child(parent, left)
      let source = blocks.child(parent, left + 1)
      if blocks.count(target) + blocks.count(source) <= RopeBlocks.fanout * 3 / 4 {
        let moved = moveChildren(from: source, 0, to: target)
        blocks.add(moved, parent, left)
        removeChild(source)
        return
      }
    }
  }

  /// There must be a block.
  var firstLeaf: UInt32 {
    var block = root
    for _ in 0..<height { block = blocks.child(block, 0) }
    return block
  }

  /// There must be a block.
  var lastLeaf: UInt32 {
    var block = root
    for _ in 0..<height { block = blocks.child(block, blocks.count(block) - 1) }
    return block
  }
}
