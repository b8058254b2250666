import CairnBytes
import CairnMerge

/// Finding rows of a block, in the column's own form where that is quick.
extension CellTest {
  /// Rows whose cell matches, records in conflict aside: they have no cells.
  func rows(of block: Block, field number: Int) -> [Int] {
    guard let column = block.column(number) else {
      return matchesAbsent ? Array(0..<block.rowCount) : []
    }
    switch column.form {
    case .ints: return rows(of: column, block, ints)
    case .dates: return rows(of: column, block, dates)
    case .heap where column.tag == CellTag.string: return textRows(of: column, block)
    default:
      let bytes = block.bytes
      var rows: [Int] = []
      for row in 0..<block.rowCount where matches(column.cell(row, bytes), bytes) {
        rows.append(row)
      }
      return rows
    }
  }

  /// Integers are differences to a minimum: the range becomes one of differences.
  private func rows(
    of column: BlockColumn, _ block: Block, _ ranges: [ClosedRange<Int64>]
  ) -> [Int] {
    guard let range = ranges.first else { return [] }
    let bytes = block.bytes
    var rows: [Int] = []
    if ranges.count > 1 {
      for row in 0..<block.rowCount where matches(column.cell(row, bytes), bytes) {
        rows.append(row)
      }
      return rows
    }
    let minimum = Int64(bitPattern: column.minimum)
    guard range.upperBound >= minimum else { return [] }
    let low = UInt64(bitPattern: max(range.lowerBound, minimum) &- minimum)
    let span = UInt64(bitPattern: range.upperBound &- minimum) &- low
    if column.width < 8, low >> UInt64(8 * column.width) != 0 { return [] }
    let start = column.start
    switch column.width {
    case 1:
      for row in 0..<block.rowCount where UInt64(bytes[start + row]) &- low <= span {
        rows.append(row)
      }
    case 2:
      for row in 0..<block.rowCount where UInt64(bytes.u16(at: start + row * 2)) &- low <= span {
        rows.append(row)
      }
    default:
      for row in 0..<block.rowCount where column.number(row, bytes) &- low <= span {
        rows.append(row)
      }
    }
    return rows
  }

  private func textRows(of column: BlockColumn, _ block: Block) -> [Int] {
    let bytes = block.bytes
    var rows: [Int] = []
    switch texts {
    case .never: break
    case .always: return Array(0..<block.rowCount)
    case .equalsOne(let wanted) where wanted.count == 1:
      let text = wanted[0]
      let length = text.count
      for row in 0..<block.rowCount {
        let range = column.heapRange(row, bytes)
        if range.count == length, bytes.equal(range, text, 0..<length) { rows.append(row) }
      }
    default:
      for row in 0..<block.rowCount where texts.matches(bytes, column.heapRange(row, bytes)) {
        rows.append(row)
      }
    }
    return rows
  }
}
