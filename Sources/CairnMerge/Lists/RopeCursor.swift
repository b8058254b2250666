/// Where the last look-up by index ended, so that the next one nearby needn't start at the root.
///
/// The numbers are visible nodes; what is before the cursor's run is right as long as the cursor
/// is set. Whether there still is a run at `run`, and which, is for the user to check.
struct RopeCursor {
  /// `RopeBlocks.none` if there is no cursor.
  var leaf = RopeBlocks.none
  /// Visible nodes before the leaf.
  var before: UInt32 = 0
  /// Index of a run in the leaf.
  var run: UInt32 = 0
  /// Visible nodes of the leaf before that run.
  var beforeRun: UInt32 = 0

  /// Runs from `place` on changed, and by that the number of visible nodes in the leaf.
  @inline(__always)
  mutating func note(_ place: RopePlace, isCountKept: Bool) {
    if place.leaf != leaf {
      // The leaf may lie before the cursor's.
      if !isCountKept { leaf = RopeBlocks.none }
    } else if place.run < Int(run) {
      run = 0
      beforeRun = 0
    }
  }

  /// The runs from `index` on have left a leaf.
  mutating func noteSplit(_ other: UInt32, at index: Int) {
    if leaf == other, Int(run) > index {
      run = 0
      beforeRun = 0
    }
  }

  /// A leaf is no more.
  mutating func noteEnd(of other: UInt32) {
    if leaf == other { leaf = RopeBlocks.none }
  }
}
