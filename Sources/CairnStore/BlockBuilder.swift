import CairnBytes
import CairnMerge

/// Collects rows of one table and writes them as a block's bytes; `Block` and `BlockColumn` have
/// the format. The same rows always give the same bytes.
struct BlockBuilder: Sendable {
  private let table: Int
  private var names: [RecordName] = []
  private var estimate = 0
  private var presences: [Int] = []
  private var stamps: [Stamp: Int] = [.settled: 0]
  private var stampList: [Stamp] = []
  /// The one that was asked for last: the fields of a record mostly have one, which is not hashed
  /// again for each of them.
  private var lastStamp = (stamp: Stamp.settled, number: 0)
  private var columns: [ColumnBuilder] = []
  private var complex: [(row: Int, bytes: [UInt8])] = []
  private(set) var hashes: [UInt64] = []

  /// A row on its way into a snapshot.
  struct Row {
    var name = RecordName.packed(0, 0)
    /// Whether it is to be written; not for what nothing is left of.
    var isThere = false
    var presence = Stamp.settled
    var cells: [RowCell] = []
    /// The whole state of a record in conflict, instead of cells.
    var state: [UInt8]?
    var heapBytes = 0
  }

  struct RowCell {
    /// Number of the field, given by whoever builds.
    var field: Int
    var cell: Cell
    var stamp: Stamp
    /// Whether the word refers to the base block's bytes or to the store's heap.
    var isBase: Bool
  }

  init(table: Int) { self.table = table }

  var isEmpty: Bool { names.isEmpty }

  /// A builder of the next block of the same table, with room for as much as this one took.
  func emptied() -> BlockBuilder {
    var next = BlockBuilder(table: table)
    next.names.reserveCapacity(names.count)
    next.hashes.reserveCapacity(names.count)
    next.presences.reserveCapacity(names.count)
    next.columns = columns.map { $0.emptied() }
    return next
  }

  private static func estimate(_ row: Row) -> Int {
    var size = 16
    if case .text(let text) = row.name { size = 1 + text.utf8.count }
    return size + row.cells.count * 9 + row.heapBytes + (row.state?.count ?? 0)
  }

  /// Whether a new block begins before this row.
  func mustCut(before row: Row, hash: UInt64) -> Bool {
    guard let last = names.last else { return false }
    if names.count == BlockFormat.rowsMax { return true }
    if last.isPacked != row.name.isPacked { return true }
    if estimate + BlockBuilder.estimate(row) > BlockFormat.cutAt { return true }
    return estimate >= BlockFormat.cutFrom && hash & BlockFormat.cutMask == 0
  }

  mutating func add(_ row: Row, hash: UInt64, heap: [UInt8], baseHeap: [UInt8]) {
    estimate += BlockBuilder.estimate(row)
    let number = names.count
    names.append(row.name)
    hashes.append(hash)
    presences.append(stampNumber(row.presence))
    if let state = row.state { complex.append((number, state)) }
    for cell in row.cells {
      let stamp = stampNumber(cell.stamp)
      while columns.count <= cell.field { columns.append(ColumnBuilder()) }
      if !CellTag.isHeap(cell.cell.tag) {
        columns[cell.field].add(cell.cell, row: number, stamp: stamp)
      } else if cell.isBase {
        columns[cell.field].add(cell.cell, from: baseHeap, row: number, stamp: stamp)
      } else {
        columns[cell.field].add(cell.cell, from: heap, row: number, stamp: stamp)
      }
    }
  }

  private mutating func stampNumber(_ stamp: Stamp) -> Int {
    if stamp.isSettled { return 0 }
    if stamp == lastStamp.stamp { return lastStamp.number }
    let number: Int
    if let known = stamps[stamp] {
      number = known
    } else {
      stampList.append(stamp)
      number = stampList.count
      stamps[stamp] = number
    }
    lastStamp = (stamp, number)
    return number
  }

  /// The block's bytes, its columns sorted by name; the builder is empty after that.
  mutating func finish(fields: [String]) -> [UInt8] {
    sortStamps()
    var out: [UInt8] = []
    out.reserveCapacity(BlockFormat.cutAt)
    out.putVarint(table)
    out.putVarint(names.count)
    putIds(into: &out)
    out.putVarint(stampList.count)
    for stamp in stampList {
      out.put(stamp.dot.device.rawValue)
      out.putVarint(stamp.dot.sequence)
      out.putZigzag(stamp.time)
    }
    StampColumn.put(presences, likePresence: nil, into: &out)
    let used = columns.indices.filter { !columns[$0].isEmpty }.sorted { fields[$0] < fields[$1] }
    out.putVarint(used.count)
    for index in used {
      out.putString(fields[index])
      columns[index].finish(rows: names.count, presences: presences, into: &out)
    }
    out.putVarint(complex.count)
    var next = 0
    for (row, bytes) in complex {
      out.putVarint(row - next)
      out.putBlob(bytes)
      next = row + 1
    }
    reset()
    return out
  }

  /// Numbers the stamps in commit order: the order in which cells came depends on the order of
  /// fields in memory, which is not the same everywhere.
  private mutating func sortStamps() {
    if stampList.count < 2 { return }
    var numbers = [Int](repeating: 0, count: stampList.count + 1)
    stampList.sort()
    for (index, stamp) in stampList.enumerated() {
      if let old = stamps[stamp] { numbers[old] = index + 1 }
    }
    for row in presences.indices { presences[row] = numbers[presences[row]] }
    for column in columns.indices { columns[column].renumber(numbers) }
  }

  private func putIds(into out: inout [UInt8]) {
    guard names.first?.isPacked == true else {
      out.put(UInt8(1))
      for name in names { out.put(UInt8(name.text.utf8.count)) }
      for name in names { out.putUTF8(name.text) }
      return
    }
    out.put(UInt8(0))
    for name in names {
      guard case .packed(let high, let low) = name else { continue }
      out.put(high.byteSwapped)
      out.put(low.byteSwapped)
    }
  }

  private mutating func reset() {
    names.removeAll(keepingCapacity: true)
    hashes.removeAll(keepingCapacity: true)
    presences.removeAll(keepingCapacity: true)
    if !stampList.isEmpty {
      stampList.removeAll()
      stamps = [.settled: 0]
      lastStamp = (.settled, 0)
    }
    complex.removeAll()
    estimate = 0
  }
}

extension RecordName {
  var isPacked: Bool {
    if case .packed = self { true } else { false }
  }
}
