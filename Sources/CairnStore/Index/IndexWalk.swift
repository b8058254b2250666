/// The entries of both parts of an index within a range, in one order. Entries of equal value come
/// in no set order.
struct IndexWalk {
  private let base: BaseIndex?
  private let overlay: OverlayIndex
  private let heap: [UInt8]
  private let isDescending: Bool
  private var basePositions: Range<Int>
  private var start: OverlayIndex.Position
  private var end: OverlayIndex.Position
  private var left: Int

  init(
    _ base: BaseIndex?, _ overlay: OverlayIndex, _ range: KeyRange, heap: [UInt8],
    isDescending: Bool
  ) {
    self.base = base
    self.overlay = overlay
    self.heap = heap
    self.isDescending = isDescending
    basePositions = base?.positions(range) ?? 0..<0
    (start, end) = overlay.positions(range, heap)
    left = overlay.distance(start, end)
  }

  /// The next entry, and whether it is of the base.
  mutating func next() -> (entry: IndexEntry, isBase: Bool)? {
    let own = left == 0 ? nil : overlay[isDescending ? overlay.before(end) : start]
    guard let base, let position = isDescending ? basePositions.last : basePositions.first else {
      guard let own else { return nil }
      advanceOverlay()
      return (own, false)
    }
    let below = base.entries[position]
    if let own {
      let order = own.order(heap, below, base.heap)
      if isDescending ? order > 0 : order < 0 {
        advanceOverlay()
        return (own, false)
      }
    }
    basePositions = isDescending ? basePositions.dropLast() : basePositions.dropFirst()
    return (below, true)
  }

  private mutating func advanceOverlay() {
    left -= 1
    if isDescending { end = overlay.before(end) } else { start = overlay.after(start) }
  }
}
