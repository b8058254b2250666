/// What a `LateBroadcast` of any kind of value holds: a type of its own for each would be what is
/// to be saved.
// Not private: it lies within whatever holds such a broadcast, and Swift 6.3 without optimisation
// can't compile a layout with a type that is private to another file.
struct LateState {
  var made: (any AnyObject & Sendable)?
  var isFinished = false
}
