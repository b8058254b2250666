import CairnBytes

/// Which delta made which nodes: names and stamps of slots, and slots of names.
///
/// The nodes of one delta have consecutive slots, so there is one batch a delta and not one name a
/// node.
struct ListAuthors: Sendable {
  /// By batch: its first slot, ascending, and its delta.
  private(set) var firsts: [UInt32] = []
  private(set) var stamps: [Stamp] = []
  private var devices = DeviceNumbers()
  /// By number of device: its batches, by ascending sequence.
  private var batches: [[UInt32]] = []

  /// Adds a delta's nodes. Deltas of one device come in the order of their sequences.
  mutating func append(first: UInt32, _ stamp: Stamp) {
    let batch = UInt32(firsts.count)
    firsts.append(first)
    stamps.append(stamp)
    if let device = devices.number(stamp.dot.device) {
      batches[device].append(batch)
    } else {
      devices.add(stamp.dot.device)
      batches.append([batch])
    }
  }

  func batch(of slot: UInt32) -> Int {
    if let last = firsts.last, slot >= last { return firsts.count - 1 }
    // Whoever asks for the root.
    if slot == 0 { return 0 }
    // Where each keystroke is a delta, every delta has one node, and no search is needed.
    let guess = firsts.count - 1 - Int((firsts.last ?? 0) - slot)
    if guess >= 0, firsts[guess] == slot, firsts[guess + 1] > slot { return guess }
    return max(1, firsts.partitionPoint { $0 > slot }) - 1
  }

  func stamp(of slot: UInt32) -> Stamp { stamps[batch(of: slot)] }

  func id(of slot: UInt32) -> NodeID {
    let batch = batch(of: slot)
    return NodeID(stamps[batch].dot, slot - firsts[batch])
  }

  /// The slot of a name, nil if no such node was ever here. `count` is the number of all slots.
  func slot(of id: NodeID, count: Int) -> UInt32? {
    guard let batch = batch(of: id.dot) else { return nil }
    let end = batch + 1 < firsts.count ? firsts[batch + 1] : UInt32(count)
    guard id.index < end - firsts[batch] else { return nil }
    return firsts[batch] + id.index
  }

  func batch(of dot: Dot) -> Int? {
    guard let device = devices.number(dot.device) else { return nil }
    let known = batches[device]
    guard let last = known.last else { return nil }
    // Counting back from the last as if every delta had a batch can only go too far: mostly it does
    // not, and in a text that is being typed no search is needed.
    let behind = stamps[Int(last)].dot.sequence.subtractingReportingOverflow(dot.sequence)
    if behind.overflow { return nil }
    let start = max(0, known.count - 1 - Int(clamping: behind.partialValue))
    if stamps[Int(known[start])].dot == dot { return Int(known[start]) }
    let found = known[start...].partitionPoint { stamps[Int($0)].dot.sequence >= dot.sequence }
    guard found < known.count, stamps[Int(known[found])].dot == dot else { return nil }
    return Int(known[found])
  }
}
