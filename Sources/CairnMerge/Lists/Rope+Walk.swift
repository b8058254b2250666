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
}
