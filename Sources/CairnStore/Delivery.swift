import CairnBytes
import CairnMerge

/// Applies packs of several devices in causal order: each delta as soon as everything that it
/// builds on is there. What can't be applied yet stays where it is.
struct Delivery {
  /// What is wrong with a pack's bytes: nothing of it is applied from there on.
  private(set) var failures: [Int: DecodeError] = [:]
  private var packs: [Queue] = []

  private struct Queue {
    var reader: PackReader
    var slots: [UInt32] = []
    var delta = Delta()
    /// The delta is decoded and waits.
    var isWaiting = false
    /// Deltas behind this are not to be applied.
    var last: UInt64
    var applied = 0
    var appliedLast: UInt64 = 0
    var isDone = false
  }

  /// What `run` would apply from each pack, by decoding all of it and applying nothing: the last
  /// sequence, 0 for none. Packs whose bytes are wrong are in `failures`.
  static func plan(
    _ packs: [[UInt8]], vector: VersionVector
  ) -> (last: [UInt64], failures: [Int: DecodeError]) {
    var plan = DeliveryPlan(vector: vector)
    for (index, bytes) in packs.enumerated() { plan.add(bytes, index) }
    return (plan.run(), plan.failures)
  }

  mutating func add(_ reader: PackReader, last: UInt64) {
    packs.append(Queue(reader: reader, last: min(last, reader.header.last)))
  }

  /// Nothing is left that could not be applied.
  var isFinished: Bool { packs.allSatisfy(\.isDone) }

  /// Highest sequence that was applied from each pack, 0 if none was.
  var appliedLast: [UInt64] { packs.map(\.appliedLast) }
  var appliedCount: Int { packs.reduce(0) { $0 + $1.applied } }

  mutating func run(into state: inout StoreState) throws(StoreError) {
    var hasProgress = true
    while hasProgress {
      hasProgress = false
      for index in packs.indices where !packs[index].isDone {
        if try advance(index, &state) { hasProgress = true }
      }
    }
  }

  /// Applies as much of one pack as can be. Returns whether that was anything.
  private mutating func advance(
    _ index: Int, _ state: inout StoreState
  ) throws(StoreError) -> Bool {
    var hasProgress = false
    while true {
      if !packs[index].isWaiting {
        guard packs[index].reader.nextSequence <= packs[index].last else { break }
        do throws(DecodeError) {
          guard try packs[index].reader.next(into: &packs[index].delta) else { break }
        } catch {
          failures[index] = error
          break
        }
        packs[index].isWaiting = true
      }
      let dot = packs[index].delta.dot
      if !state.vector.contains(dot) {
        guard state.canApply(packs[index].delta) else { return hasProgress }
        try state.apply(
          packs[index].delta, heap: packs[index].reader.heap,
          names: packs[index].reader.records, slots: &packs[index].slots)
        packs[index].applied += 1
        packs[index].appliedLast = dot.sequence
        hasProgress = true
      }
      packs[index].isWaiting = false
    }
    packs[index].isDone = true
    return hasProgress
  }
}
