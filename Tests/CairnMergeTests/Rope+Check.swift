@testable import CairnMerge

/// What must hold of a rope.
extension Rope {
  /// What is wrong inside; empty if all is well. O(n).
  func problems() -> [String] {
    var found: [String] = []
    if blocks.isEmpty {
      if total != RopeSum() || !leaves.isEmpty { found.append("there are nodes without blocks") }
      return found
    }
    var order: [UInt32] = []
    let sum = check(root, above: height, &order, &found)
    if sum != total { found.append("the total is \(total), the blocks have \(sum)") }
    if blocks.parent(root) != RopeBlocks.none { found.append("the root has a parent") }
    if height > 0, blocks.count(root) < 2 { found.append("the root has one child") }
    checkLinks(order, &found)
    let known = leaves.count { $0 != RopeBlocks.none }
    if known != total.nodes { found.append("the map has \(known) of \(total.nodes) slots") }
    checkCursor(order, &found)
    return found
  }

  /// Checks a block and all below, and collects the leaves.
  private func check(
    _ block: UInt32, above levels: UInt32, _ order: inout [UInt32], _ found: inout [String]
  ) -> RopeSum {
    var sum = RopeSum()
    if levels == 0 {
      order.append(block)
      if blocks.count(block) == 0, height > 0 { found.append("leaf \(block) is empty") }
      if blocks.count(block) > RopeBlocks.capacity { found.append("leaf \(block) is too full") }
      for index in 0..<blocks.count(block) {
        let run = blocks.run(block, index)
        if run.count == 0 || run.count > RopeRun.longest {
          found.append("leaf \(block) has a run of \(run.count)")
        }
        for slot in run.slots where Int(slot) >= leaves.count || leaves[Int(slot)] != block {
          found.append("slot \(slot) is in leaf \(block), the map has another")
        }
        sum &+= run.sum
      }
      return sum
    }
    if blocks.count(block) == 0 || blocks.count(block) > RopeBlocks.fanout {
      found.append("branch \(block) has \(blocks.count(block)) children")
    }
    for index in 0..<blocks.count(block) {
      let child = blocks.child(block, index)
      if blocks.parent(child) != block || blocks.index(child) != index {
        found.append("block \(child) does not know its place in \(block)")
      }
      let actual = check(child, above: levels - 1, &order, &found)
      if actual != blocks.sum(block, index) { found.append("the sum of \(child) is wrong") }
      sum &+= actual
    }
    return sum
  }

  private func checkLinks(_ order: [UInt32], _ found: inout [String]) {
    for (index, leaf) in order.enumerated() {
      let previous = index == 0 ? RopeBlocks.none : order[index - 1]
      let next = index + 1 == order.count ? RopeBlocks.none : order[index + 1]
      if blocks.previous(leaf) != previous || blocks.next(leaf) != next {
        found.append("leaf \(leaf) has other neighbours")
      }
    }
  }

  private func checkCursor(_ order: [UInt32], _ found: inout [String]) {
    if cursor.leaf == RopeBlocks.none { return }
    guard let position = order.firstIndex(of: cursor.leaf) else {
      found.append("the cursor is in leaf \(cursor.leaf), which isn't there")
      return
    }
    var before: UInt32 = 0
    for leaf in order[..<position] {
      for index in 0..<blocks.count(leaf) { before += blocks.run(leaf, index).visibleCount }
    }
    var beforeRun: UInt32 = 0
    for index in 0..<min(Int(cursor.run), blocks.count(cursor.leaf)) {
      beforeRun += blocks.run(cursor.leaf, index).visibleCount
    }
    if before != cursor.before || beforeRun != cursor.beforeRun {
      found.append("the cursor is wrong")
    }
  }
}
