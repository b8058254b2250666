/// Where a run is: a leaf, and an index in it. Good until the rope changes.
struct RopePlace {
  var leaf: UInt32
  var run: Int

  @inline(__always)
  init(_ leaf: UInt32, _ run: Int) {
    self.leaf = leaf
    self.run = run
  }
}
