import CairnMerge

extension TableState {
  /// Slots in the order of their ids.
  func sortedSlots() -> [Int] {
    var packed: [PackedSlot] = []
    var texts: [(name: RecordName, slot: Int)] = []
    packed.reserveCapacity(ids.count)
    for (slot, id) in ids.enumerated() {
      if case .packed(let high, let low) = id {
        packed.append(PackedSlot(high: high, low: low, slot: slot))
      } else {
        texts.append((id, slot))
      }
    }
    PackedSlot.sort(&packed)
    texts.sort { $0.name < $1.name }
    return packed.map(\.slot) + texts.map(\.slot)
  }
}

/// A slot and the id of its record.
struct PackedSlot: Comparable {
  var high: UInt64
  var low: UInt64
  var slot: Int

  @inline(__always)
  static func < (a: PackedSlot, b: PackedSlot) -> Bool {
    a.high != b.high ? a.high < b.high : a.low < b.low
  }

  /// Generated ids are random: put at once about where it belongs, each has to be compared with a
  /// few only. Ids of another kind are sorted as everything is.
  static func sort(_ slots: inout [PackedSlot]) {
    let bits = min(16, Int.bitWidth - 1 - max(1, slots.count).leadingZeroBitCount)
    if bits < 8 { return slots.sort() }
    let shift = UInt64(64 - bits)
    var starts = [Int](repeating: 0, count: 1 << bits)
    for slot in slots { starts[Int(slot.high >> shift)] += 1 }
    if starts.contains(where: { $0 > fewInPlace }) { return slots.sort() }
    var next = 0
    for place in starts.indices {
      next += starts[place]
      starts[place] = next - starts[place]
    }
    let unsorted = slots
    for slot in unsorted {
      let place = Int(slot.high >> shift)
      slots[starts[place]] = slot
      starts[place] += 1
    }
    for index in slots.indices.dropFirst() {
      let slot = slots[index]
      var place = index
      while place > 0, slot < slots[place - 1] {
        slots[place] = slots[place - 1]
        place -= 1
      }
      slots[place] = slot
    }
  }

  private static let fewInPlace = 64
}
