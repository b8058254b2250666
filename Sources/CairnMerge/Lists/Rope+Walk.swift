/// Walks over runs. Neighbouring runs that could be one need not be.
extension Rope {
  /// Calls `body` with all runs, in order: their slots, and whether they are visible. An error of
  /// `body` ends the walk; to keep its type a closure names it: `{ slots, visible throws(E) in`.
  package func forEachRun<Failure: Error>(
    _ body: (_ slots: Range<UInt32>, _ visible: Bool) throws(Failure) -> Void
  ) throws(Failure) {
    if count == 0 { return }
    var leaf = firstLeaf
    while leaf != RopeBlocks.none {
      for index in 0..<blocks.count(leaf) {
        let run = blocks.run(leaf, index)
        try body(run.slots, run.isVisible)
      }
      leaf = blocks.next(leaf)
    }
  }

  /// Calls `body` with the slots of `count` visible nodes, in order, from the one that has `index`
  /// visible ones before it; the nodes must be there. Hidden runs are passed over.
  package func forEachRun(
    fromVisible index: Int, count: Int, _ body: (Range<UInt32>) -> Void
  ) {
    if count <= 0 { return }
    let start = leaf(atVisible: UInt32(index))
    var leaf = start.leaf
    var skipped = UInt32(index) - start.before
    var rest = UInt32(count)
    while true {
      for number in 0..<blocks.count(leaf) {
        let run = blocks.run(leaf, number)
        let visible = run.visibleCount
        if skipped >= visible {
          skipped -= visible
          continue
        }
        let taken = min(visible - skipped, rest)
        let first = run.first + skipped
        body(first..<(first + taken))
        skipped = 0
        rest -= taken
        if rest == 0 { return }
      }
      leaf = blocks.next(leaf)
    }
  }
}
