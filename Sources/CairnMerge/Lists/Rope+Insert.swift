extension Rope {
  /// Inserts consecutive slots right after a node, or at the very start (nil). None of them may be
  /// in the rope. O(log n) for each 256 slots; extending the run that was touched last is faster.
  package mutating func insert(
    _ slots: Range<UInt32>, after slot: UInt32?, visible: Bool
  ) {
    var left = slot
    var first = slots.lowerBound
    while first < slots.upperBound {
      let count = min(slots.upperBound - first, UInt32(RopeRun.longest))
      let run = RopeRun(first..<(first + count), isVisible: visible)
      let place =
        if let left { insert(run, after: left) } else { insertFirst(run) }
      assign(run.slots, to: place.leaf)
      add(run.sum, to: place.leaf)
      cursor.note(place, isCountKept: !visible)
      first += count
      left = first - 1
    }
  }

  /// Puts a run into a leaf, but not yet into the map and the sums. The first run that changed.
  @inline(__always)
  private mutating func insert(_ run: RopeRun, after slot: UInt32) -> RopePlace {
    let place = find(slot)
    let host = blocks.run(place.leaf, place.run)
    if slot &+ 1 == host.end {
      if let joined = host.joined(with: run) {
        blocks.setRun(place.leaf, place.run, joined)
        return place
      }
      return insert(run, at: RopePlace(place.leaf, place.run + 1))
    }
    let gap = open(RopePlace(place.leaf, place.run + 1), gap: 2)
    blocks.setRun(gap.leaf, gap.run - 1, host.prefix(upTo: slot + 1))
    blocks.setRun(gap.leaf, gap.run, run)
    blocks.setRun(gap.leaf, gap.run + 1, host.suffix(from: slot + 1))
    return RopePlace(gap.leaf, gap.run - 1)
  }

  private mutating func insertFirst(_ run: RopeRun) -> RopePlace {
    if blocks.isEmpty { root = blocks.allocate() }
    return insert(run, at: RopePlace(firstLeaf, 0))
  }

  /// Between two runs.
  private mutating func insert(_ run: RopeRun, at place: RopePlace) -> RopePlace {
    if place.run < blocks.count(place.leaf),
      let joined = run.joined(with: blocks.run(place.leaf, place.run))
    {
      blocks.setRun(place.leaf, place.run, joined)
      return place
    }
    let gap = open(place, gap: 1, isAppending: true)
    blocks.setRun(gap.leaf, gap.run, run)
    return gap
  }
}
