/// How the slots of a snapshot's index are laid out, worked out once and not with each look-up.
struct SnapshotSlots: Sendable {
  private let pages: UInt64
  /// Slots of a page.
  let perPage: Int
  /// Whether a slot has 8 bytes, not 4.
  let isWide: Bool
  private let locatorBits: UInt64
  /// The bits of a slot that are the locator; the others are a tag of the hash.
  let locatorMask: UInt64
  private let rowBits: UInt64
  private let rowMask: UInt64
  private let blockCount: UInt64
  /// By how much a mixed hash is shifted to leave the tag.
  private let tagShift: UInt64

  init(_ header: SnapshotHeader) {
    pages = UInt64(header.indexPages)
    perPage = header.slotsPerPage
    isWide = header.slotBytes == 8
    locatorBits = UInt64(header.locatorBits)
    locatorMask = locatorBits >= 64 ? .max : (1 << locatorBits) - 1
    rowBits = UInt64(header.rowBits)
    rowMask = (1 << rowBits) - 1
    blockCount = UInt64(header.blockCount)
    tagShift = 64 - (UInt64(header.slotBytes) * 8 - locatorBits)
  }

  /// The page of a hash: pages follow each other as hashes do.
  @inline(__always)
  static func page(_ hash: UInt64, of pages: UInt64) -> Int {
    Int(truncatingIfNeeded: ((hash >> 32) &* pages) >> 32)
  }

  /// Where a hash is looked for: a page, the slot to start at, and the tag that its slot carries.
  @inline(__always)
  func place(_ hash: UInt64) -> (page: Int, slot: Int, tag: UInt64) {
    let page = SnapshotSlots.page(hash, of: pages)
    let slots = UInt64(truncatingIfNeeded: perPage)
    let slot = Int(truncatingIfNeeded: ((hash & 0xFFFF_FFFF) &* slots) >> 32)
    return (page, slot, (hash &* 0x9E37_79B9_7F4A_7C15) >> tagShift)
  }

  /// Puts the place of a record, block << 32 | row, into the slots of its page.
  @inline(__always)
  func insert(_ hash: UInt64, _ place: UInt64, into slots: inout [UInt64]) {
    var (_, slot, tag) = self.place(hash)
    while slots[slot] != 0 { slot = slot + 1 == slots.count ? 0 : slot + 1 }
    let locator = (place >> 32) << rowBits | (place & 0xFFFF_FFFF)
    slots[slot] = tag << locatorBits | (locator + 1)
  }

  /// The same as the beginning of a look-up.
  @inline(__always)
  func probe(_ hash: UInt64) -> SnapshotProbe {
    let (page, slot, tag) = place(hash)
    return SnapshotProbe(page: page, slot: slot, left: perPage, tag: tag << locatorBits)
  }

  /// Goes on to the next slot with the probe's tag. `load` gives the slots of the page.
  @inline(__always)
  func next(_ probe: inout SnapshotProbe, _ load: (Int) -> UInt64) -> (block: Int, row: Int)? {
    while probe.left > 0 {
      let value = load(probe.slot)
      probe.left = value == 0 ? 0 : probe.left &- 1
      probe.slot = probe.slot &+ 1 == perPage ? 0 : probe.slot &+ 1
      if value == 0 || value & ~locatorMask != probe.tag { continue }
      let locator = (value & locatorMask) &- 1
      let block = locator &>> rowBits
      if block >= blockCount { continue }
      let row = locator & rowMask
      return (Int(truncatingIfNeeded: block), Int(truncatingIfNeeded: row))
    }
    return nil
  }
}

/// A look-up that is under way.
package struct SnapshotProbe: Sendable {
  let page: Int
  /// The slot that comes next.
  var slot: Int
  /// How many slots were not looked at.
  var left: Int
  /// In the place where a slot has it.
  let tag: UInt64
}
