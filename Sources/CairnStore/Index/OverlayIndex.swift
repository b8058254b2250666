import CairnBytes
import CairnMerge

/// The slots of a table, all of them, sorted by their own cells of one column. A slot without a
/// cell is among the absent ones; whether it exists and what it reads from the base is for the
/// reader to find out.
///
/// Writers only mark the slots that they touch (`Column.touched`); the next query brings the order
/// up to date. Entries are kept in chunks, so that a change moves a few hundred of them at most.
struct OverlayIndex {
  private(set) var chunks: [[IndexEntry]] = []
  /// The entry that each slot has in the chunks.
  private var known: [IndexEntry] = []

  private static let chunkSize = 256

  var count: Int { known.count }

  /// Where an entry is. Past the end: the number of chunks.
  struct Position: Equatable {
    var chunk: Int
    var offset: Int
  }

  // MARK: following the column

  /// Takes over what was set since the last time.
  mutating func update(_ column: inout Column, slots: Int, _ heap: [UInt8]) {
    guard var touched = column.touched else {
      column.touched = SlotMarks()
      rebuild(column, slots: slots, heap)
      return
    }
    if touched.slots.isEmpty, slots == known.count { return }
    // One owner at a time, or emptying it would copy it first.
    column.touched = nil
    if touched.slots.count + slots - known.count > max(64, known.count / 8) {
      rebuild(column, slots: slots, heap)
    } else {
      let old = known.count
      for slot in touched.slots where slot < old { move(Int(slot), column, heap) }
      for slot in old..<max(old, slots) { add(slot, column, heap) }
    }
    touched.removeAll()
    column.touched = touched
  }

  private static func entry(_ slot: Int, _ column: Column, _ heap: [UInt8]) -> IndexEntry {
    IndexEntry(column.cell(slot), heap, reference: UInt64(slot))
  }

  private mutating func rebuild(_ column: Column, slots: Int, _ heap: [UInt8]) {
    known = (0..<slots).map { OverlayIndex.entry($0, column, heap) }
    let sorted = known.sorted { IndexEntry.precedes($0, $1, heap) }
    chunks = stride(from: 0, to: slots, by: OverlayIndex.chunkSize).map {
      Array(sorted[$0..<min(slots, $0 + OverlayIndex.chunkSize)])
    }
  }

  private mutating func move(_ slot: Int, _ column: Column, _ heap: [UInt8]) {
    let entry = OverlayIndex.entry(slot, column, heap)
    if entry.order(heap, known[slot], heap) == 0 {
      // The same value, perhaps in other bytes of the heap: either's will do.
      return
    }
    remove(known[slot], heap)
    insert(entry, heap)
    known[slot] = entry
  }

  private mutating func add(_ slot: Int, _ column: Column, _ heap: [UInt8]) {
    let entry = OverlayIndex.entry(slot, column, heap)
    insert(entry, heap)
    known.append(entry)
  }

  private mutating func insert(_ entry: IndexEntry, _ heap: [UInt8]) {
    guard !chunks.isEmpty else {
      chunks = [[entry]]
      return
    }
    let number = min(chunk { !IndexEntry.precedes($0, entry, heap) }, chunks.count - 1)
    let offset = first(in: number) { !IndexEntry.precedes($0, entry, heap) }
    chunks[number].insert(entry, at: offset)
    let size = chunks[number].count
    if size > 2 * OverlayIndex.chunkSize {
      let tail = Array(chunks[number][(size / 2)...])
      chunks[number].removeLast(tail.count)
      chunks.insert(tail, at: number + 1)
    }
  }

  private mutating func remove(_ entry: IndexEntry, _ heap: [UInt8]) {
    let number = chunk { !IndexEntry.precedes($0, entry, heap) }
    guard number < chunks.count else { return }
    let offset = first(in: number) { !IndexEntry.precedes($0, entry, heap) }
    guard offset < chunks[number].count, chunks[number][offset].reference == entry.reference
    else { return }
    chunks[number].remove(at: offset)
    if chunks[number].isEmpty { chunks.remove(at: number) }
  }

  // MARK: looking

  /// The first chunk whose last entry fits; `fits` is false first and true from some entry on.
  private func chunk(_ fits: (IndexEntry) -> Bool) -> Int {
    chunks.indices.partitionPoint { fits(chunks[$0][chunks[$0].count - 1]) }
  }

  private func first(in number: Int, _ fits: (IndexEntry) -> Bool) -> Int {
    chunks[number].partitionPoint(fits)
  }

  /// Where a range begins and where it has ended.
  func positions(_ range: KeyRange, _ heap: [UInt8]) -> (start: Position, end: Position) {
    (
      position(range.lower, isBehind: !range.includesLower, heap),
      position(range.upper, isBehind: range.includesUpper, heap)
    )
  }

  private func position(
    _ bound: KeyRange.Bound, isBehind: Bool, _ heap: [UInt8]
  ) -> Position {
    let fits: (IndexEntry) -> Bool = {
      let order = $0.order(heap, bound.entry, bound.heap)
      return order > 0 || order == 0 && !isBehind
    }
    let number = chunk(fits)
    guard number < chunks.count else { return Position(chunk: number, offset: 0) }
    return Position(chunk: number, offset: first(in: number, fits))
  }

  /// How many entries there are from one position to another.
  func distance(_ start: Position, _ end: Position) -> Int {
    if start.chunk == end.chunk { return max(0, end.offset - start.offset) }
    guard start.chunk < end.chunk else { return 0 }
    var count = chunks[start.chunk].count - start.offset + end.offset
    for number in (start.chunk + 1)..<end.chunk { count += chunks[number].count }
    return count
  }

  func after(_ position: Position) -> Position {
    position.offset + 1 < chunks[position.chunk].count
      ? Position(chunk: position.chunk, offset: position.offset + 1)
      : Position(chunk: position.chunk + 1, offset: 0)
  }

  func before(_ position: Position) -> Position {
    position.offset > 0
      ? Position(chunk: position.chunk, offset: position.offset - 1)
      : Position(chunk: position.chunk - 1, offset: chunks[position.chunk - 1].count - 1)
  }

  subscript(position: Position) -> IndexEntry { chunks[position.chunk][position.offset] }
}
