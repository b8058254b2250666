import CairnBytes
import CairnMerge

/// "This field equals that value", ready to be asked of cells without building values.
struct Predicate {
  let field: String
  let value: FieldValue
  /// The value as a cell, for types that are compared bit by bit.
  private let cell: Cell
  private let heap: [UInt8]

  init(field: String, value: FieldValue) {
    self.field = field
    self.value = value
    var heap: [UInt8] = []
    cell = Cell(value, heap: &heap)
    self.heap = heap
  }

  /// Numbers match numbers by value, everything else its own type only.
  @inline(__always)
  func matches(_ other: Cell, _ otherHeap: [UInt8]) -> Bool {
    switch other.tag {
    case CellTag.none, CellTag.absent: return false
    case CellTag.int, CellTag.double:
      if other.tag == cell.tag, cell.tag == CellTag.int { return other.word == cell.word }
      guard cell.tag == CellTag.int || cell.tag == CellTag.double else { return false }
      return other.value(otherHeap).map(value.matches) ?? false
    case CellTag.list, CellTag.createdList:
      return other.value(otherHeap).map(value.matches) ?? false
    default:
      guard other.tag == cell.tag else { return false }
      return CellTag.isHeap(cell.tag)
        ? heap.equal(0..<heap.count, otherHeap, Cell.heapRange(other.word))
        : other.word == cell.word
    }
  }

  /// Rows of a block that match, found in the column's own form where that is quick.
  func rows(of block: Block, field number: Int) -> [Int] {
    guard let column = block.column(number) else { return [] }
    let bytes = block.bytes
    var rows: [Int] = []
    switch column.form {
    case .ints where cell.tag == CellTag.int, .dates where cell.tag == CellTag.date:
      let wanted = cell.word &- column.minimum
      if column.width < 8, wanted >> UInt64(8 * column.width) != 0 { return [] }
      for row in 0..<block.rowCount where column.number(row, bytes) == wanted {
        rows.append(row)
      }
    case .heap where cell.tag == column.tag && !CellTag.isList(cell.tag):
      let length = heap.count
      for row in 0..<block.rowCount {
        let range = column.heapRange(row, bytes)
        if range.count == length, bytes.equal(range, heap, 0..<length) { rows.append(row) }
      }
    default:
      for row in 0..<block.rowCount where matches(column.cell(row, bytes), bytes) {
        rows.append(row)
      }
    }
    return rows
  }
}
