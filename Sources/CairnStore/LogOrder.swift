import CairnBytes
import CairnMerge

/// What an opening has applied when it comes to a place of the log, told without applying
/// anything: so a check finds what the opening would stop at.
package struct LogOrder: Sendable {
  /// nil: it is not known, and whatever comes can be applied.
  private var applied: VersionVector?

  /// A delta, as far as its order goes.
  struct Step {
    var dot: Dot
    var dependencies: [Dot]

    init(_ delta: Delta) { (dot, dependencies) = (delta.dot, delta.dependencies) }
  }

  init(_ applied: VersionVector?) { self.applied = applied }

  /// Nothing can be said against anything.
  package static var unknown: LogOrder { LogOrder(nil) }

  /// A frame with deltas of several devices, in whatever order lets all of them be applied.
  mutating func apply(_ packs: [[Step]]) throws(DecodeError) {
    guard var vector = applied else { return }
    // So that there is one copy of it.
    applied = nil
    var next = [Int](repeating: 0, count: packs.count)
    var hasProgress = true
    while hasProgress {
      hasProgress = false
      for index in packs.indices {
        while next[index] < packs[index].count, LogOrder.apply(packs[index][next[index]], &vector) {
          next[index] += 1
          hasProgress = true
        }
      }
    }
    guard packs.indices.allSatisfy({ next[$0] == packs[$0].count }) else {
      throw .malformed("a delta before it is missing")
    }
    applied = vector
  }

  /// False if it can't be applied yet. One that is there is not applied again.
  private static func apply(_ step: Step, _ vector: inout VersionVector) -> Bool {
    if vector.contains(step.dot) { return true }
    guard vector[step.dot.device] + 1 == step.dot.sequence,
      step.dependencies.allSatisfy(vector.contains)
    else { return false }
    vector.insert(step.dot)
    return true
  }
}
