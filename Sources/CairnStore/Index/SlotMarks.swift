/// A set of slots that remembers which came, each once.
struct SlotMarks {
  private(set) var slots: [UInt32] = []
  private var bits: [UInt64] = []

  // Not inlined: every write asks whether there is a set at all, and few have one.
  @inline(never)
  mutating func insert(_ slot: Int) {
    let word = slot >> 6
    if word >= bits.count {
      bits.append(contentsOf: repeatElement(0, count: max(word + 1, bits.count * 2) - bits.count))
    }
    let bit: UInt64 = 1 << UInt64(slot & 63)
    if bits[word] & bit != 0 { return }
    bits[word] |= bit
    slots.append(UInt32(slot))
  }

  mutating func removeAll() {
    for slot in slots { bits[Int(slot >> 6)] = 0 }
    slots.removeAll(keepingCapacity: true)
  }
}
