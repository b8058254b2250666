extension Rope {
  /// Shows or hides nodes of the rope; they may lie anywhere in the order. O(log n) for each run.
  package mutating func setVisible(_ slots: Range<UInt32>, _ visible: Bool) {
    var first = slots.lowerBound
    while first < slots.upperBound {
      let place = find(first)
      let run = blocks.run(place.leaf, place.run)
      let end = min(run.end, slots.upperBound)
      if run.isVisible != visible { turn(first..<end, of: run, at: place) }
      first = end
    }
  }

  /// Turns the visibility of a part of a run around, and gives the part to a neighbour that is
  /// like it if there is one: a text deleted backwards stays two runs.
  private mutating func turn(_ part: Range<UInt32>, of host: RopeRun, at place: RopePlace) {
    let leaf = place.leaf
    let index = place.run
    let turned = RopeRun(part, isVisible: !host.isVisible)
    let change = turned.sum &- RopeRun(part, isVisible: host.isVisible).sum
    let hasLeft = host.first < part.lowerBound
    let hasRight = part.upperBound < host.end

    if !hasLeft, index > 0, let joined = blocks.run(leaf, index - 1).joined(with: turned) {
      blocks.setRun(leaf, index - 1, joined)
      if hasRight {
        blocks.setRun(leaf, index, host.suffix(from: part.upperBound))
      } else {
        blocks.removeRun(leaf, index)
        joinRuns(RopePlace(leaf, index - 1))
      }
      finish(RopePlace(leaf, index - 1), change, isShorter: !hasRight)
    } else if !hasRight, index + 1 < blocks.count(leaf),
      let joined = turned.joined(with: blocks.run(leaf, index + 1))
    {
      blocks.setRun(leaf, index + 1, joined)
      if hasLeft {
        blocks.setRun(leaf, index, host.prefix(upTo: part.lowerBound))
      } else {
        blocks.removeRun(leaf, index)
      }
      finish(place, change, isShorter: !hasLeft)
    } else {
      divide(host, at: place, into: turned, change)
    }
  }

  /// Replaces a run by what is before a part of it, the part turned around, and what is behind.
  private mutating func divide(
    _ host: RopeRun, at place: RopePlace, into turned: RopeRun, _ change: RopeSum
  ) {
    let left = host.prefix(upTo: turned.first)
    let right = host.suffix(from: turned.end)
    let gap = (left.count > 0 ? 1 : 0) + (right.count > 0 ? 1 : 0)
    var next = place
    if gap > 0 {
      next = open(RopePlace(place.leaf, place.run + 1), gap: gap)
      next.run -= 1
    }
    let first = next
    if left.count > 0 {
      blocks.setRun(next.leaf, next.run, left)
      next.run += 1
    }
    blocks.setRun(next.leaf, next.run, turned)
    if right.count > 0 { blocks.setRun(next.leaf, next.run + 1, right) }
    finish(first, change, isShorter: false)
  }

  /// Takes a node of the rope out of it. Its slot may be inserted again.
  package mutating func remove(_ slot: UInt32) {
    var place = find(slot)
    let host = blocks.run(place.leaf, place.run)
    let change = RopeSum() &- RopeRun(slot..<(slot + 1), isVisible: host.isVisible).sum
    if host.count == 1 {
      blocks.removeRun(place.leaf, place.run)
      if place.run > 0 {
        place.run -= 1
        joinRuns(place)
      }
    } else if slot == host.first {
      blocks.setRun(place.leaf, place.run, host.suffix(from: slot + 1))
    } else if slot + 1 == host.end {
      blocks.setRun(place.leaf, place.run, host.prefix(upTo: slot))
    } else {
      place = open(RopePlace(place.leaf, place.run + 1), gap: 1)
      blocks.setRun(place.leaf, place.run, host.suffix(from: slot + 1))
      place.run -= 1
      blocks.setRun(place.leaf, place.run, host.prefix(upTo: slot))
    }
    leaves[Int(slot)] = RopeBlocks.none
    finish(place, change, isShorter: host.count == 1)
  }

  /// Makes one run of a run and the next in its leaf if they fit together.
  private mutating func joinRuns(_ place: RopePlace) {
    guard place.run + 1 < blocks.count(place.leaf) else { return }
    let next = blocks.run(place.leaf, place.run + 1)
    if let joined = blocks.run(place.leaf, place.run).joined(with: next) {
      blocks.removeRun(place.leaf, place.run + 1)
      blocks.setRun(place.leaf, place.run, joined)
    }
  }

  /// Runs from `place` on were changed.
  @inline(__always)
  private mutating func finish(_ place: RopePlace, _ change: RopeSum, isShorter: Bool) {
    add(change, to: place.leaf)
    cursor.note(place, isCountKept: change.visible == 0)
    if isShorter { mergeIfSmall(place.leaf) }
  }
}
