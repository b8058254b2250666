import CairnMerge

/// Finds the slot of a record id: open addressing over 32 bits of its hash.
struct SlotIndex {
  /// Hash << 32 | slot + 1; 0 is free.
  private var entries: [UInt64] = []
  private var count = 0

  /// Calls `match` with each slot whose hash fits until it returns true; that slot, or nil.
  @inline(__always)
  func find(_ hash: UInt64, _ match: (Int) -> Bool) -> Int? {
    if entries.isEmpty { return nil }
    let mask = entries.count - 1
    let tag = hash >> 32
    var position = Int(truncatingIfNeeded: tag) & mask
    while true {
      let entry = entries[position]
      if entry == 0 { return nil }
      if entry >> 32 == tag {
        let slot = Int(entry & 0xFFFF_FFFF) - 1
        if match(slot) { return slot }
      }
      position = (position + 1) & mask
    }
  }

  mutating func insert(_ hash: UInt64, slot: Int) {
    if (count + 1) * 5 > entries.count * 3 { grow() }
    place((hash >> 32) << 32 | UInt64(slot + 1))
    count += 1
  }

  private mutating func place(_ entry: UInt64) {
    let mask = entries.count - 1
    var position = Int(truncatingIfNeeded: entry >> 32) & mask
    while entries[position] != 0 { position = (position + 1) & mask }
    entries[position] = entry
  }

  private mutating func grow() {
    let old = entries
    entries = [UInt64](repeating: 0, count: max(64, old.count * 2))
    for entry in old where entry != 0 { place(entry) }
  }
}
