import CairnBytes
import CairnMerge

/// Causal delivery on vectors alone: which deltas of which packs can be applied. Everything is
/// decoded, so that a pack with wrong bytes is found out before anything of it counts.
struct DeliveryPlan {
  private var vector: VersionVector
  private var packs: [Pending] = []
  private(set) var failures: [Int: DecodeError] = [:]

  /// Deletes that the applied deltas state, in the order of the packs.
  private(set) var deletes: [PlannedDelete] = []

  private struct Pending {
    var index: Int
    var steps: [(dot: Dot, dependencies: [Dot])]
    var deletes: [PlannedDelete] = []
    var next = 0
    var last: UInt64 = 0
  }

  private let before: VersionVector

  init(vector: VersionVector) { (self.vector, before) = (vector, vector) }

  mutating func add(_ bytes: [UInt8], _ index: Int) {
    do throws(DecodeError) {
      var reader = try PackReader(bytes)
      var steps: [(dot: Dot, dependencies: [Dot])] = []
      var deletes: [PlannedDelete] = []
      var delta = Delta()
      while try reader.next(into: &delta) {
        // Positions mean nothing where others write, too.
        guard delta.splices.isEmpty else { throw .malformed("positions in a shared list") }
        steps.append((delta.dot, delta.dependencies))
        PlannedDelete.add(of: delta, names: reader.records, to: &deletes)
      }
      packs.append(Pending(index: index, steps: steps, deletes: deletes))
    } catch { failures[index] = error }
  }

  mutating func run() -> [UInt64] {
    var hasProgress = true
    while hasProgress {
      hasProgress = false
      for index in packs.indices where advance(index) { hasProgress = true }
    }
    var result = [UInt64](repeating: 0, count: packs.count + failures.count)
    for pack in packs {
      result[pack.index] = pack.last
      // A step that was here already deletes nothing again.
      deletes += pack.deletes.filter { $0.dot.sequence <= pack.last && !before.contains($0.dot) }
    }
    return result
  }

  private mutating func advance(_ index: Int) -> Bool {
    var hasProgress = false
    while packs[index].next < packs[index].steps.count {
      let step = packs[index].steps[packs[index].next]
      if !vector.contains(step.dot) {
        guard vector[step.dot.device] + 1 == step.dot.sequence,
          step.dependencies.allSatisfy(vector.contains)
        else { break }
        vector.insert(step.dot)
        packs[index].last = step.dot.sequence
        hasProgress = true
      }
      packs[index].next += 1
    }
    return hasProgress
  }
}
