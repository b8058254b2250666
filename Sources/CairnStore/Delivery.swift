import CairnBytes
import CairnMerge

/// Applies packs of several devices in causal order: each delta as soon as everything that it
/// builds on is there. What can't be applied yet stays where it is.
struct Delivery {
  /// What is wrong with a pack's bytes: nothing of it is applied from there on.
  private(set) var failures: [Int: DecodeError] = [:]
  private var packs: [Queue] = []

  private final class Queue {
    var reader: PackReader
    var slots: [UInt32] = []
    var delta = Delta()
    /// The delta is decoded and waits.
    var isWaiting = false
    /// Deltas behind this are not to be applied.
    let last: UInt64
    var applied = 0
    var isDone = false

    init(_ reader: PackReader, last: UInt64) {
      self.reader = reader
      self.last = min(last, reader.header.last)
    }
  }

  /// What `run` would apply from each pack, by decoding all of it and applying nothing: the last
  /// sequence, 0 for none. Packs whose bytes are wrong are in `failures`.
  static func plan(
    _ packs: [[UInt8]], vector: VersionVector, gate: DeliveryGate
  ) -> DeliveryPlan.Result {
    var plan = DeliveryPlan(vector: vector, gate: gate)
    for (index, bytes) in packs.enumerated() { plan.add(bytes, index) }
    return plan.run()
  }

  mutating func add(_ reader: PackReader, last: UInt64) {
    packs.append(Queue(reader, last: last))
  }

  /// Nothing is left that could not be applied.
  var isFinished: Bool { packs.allSatisfy(\.isDone) }

  var appliedCount: Int { packs.reduce(0) { $0 + $1.applied } }

  mutating func run(into state: inout StoreState) throws(StoreError) {
    var hasProgress = true
    while hasProgress {
      hasProgress = false
      for (index, pack) in packs.enumerated() where !pack.isDone {
        if try advance(pack, index, &state) { hasProgress = true }
      }
    }
  }

  /// Applies as much of one pack as can be. Returns whether that was anything.
  private mutating func advance(
    _ pack: Queue, _ index: Int, _ state: inout StoreState
  ) throws(StoreError) -> Bool {
    var hasProgress = false
    while true {
      if !pack.isWaiting {
        guard pack.reader.nextSequence <= pack.last else { break }
        do throws(DecodeError) {
          guard try pack.reader.next(into: &pack.delta) else { break }
        } catch {
          failures[index] = error
          break
        }
        pack.isWaiting = true
      }
      if !state.vector.contains(pack.delta.dot) {
        guard state.canApply(pack.delta) else { return hasProgress }
        try state.apply(
          pack.delta, heap: pack.reader.heap, names: pack.reader.records, slots: &pack.slots)
        pack.applied += 1
        hasProgress = true
      }
      pack.isWaiting = false
    }
    pack.isDone = true
    return hasProgress
  }
}
