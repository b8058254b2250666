import CairnBytes
import CairnMerge
import TestSupport
import Testing

struct CellTests {
  static let values: [FieldValue?] = [
    nil, .bool(false), .bool(true), .int(.min), .int(0), .int(.max), .double(0), .double(-0.0),
    .double(.nan), .double(-.nan), .double(.infinity), .double(0.1), .date(.min), .date(.max),
    .string(""), .string("naïve 👩‍👩‍👧"), .bytes([]), .bytes([0, 255]), .list([]),
    .list([.bool(true), .int(-5), .double(2.5), .date(9), .string("é"), .bytes([1]), .string("")]),
  ]

  @Test(arguments: values.indices)
  func `a value goes into a cell and comes back`(index: Int) {
    let value = Self.values[index]
    var heap: [UInt8] = [1, 2, 3]
    let cell = Cell(value, heap: &heap)
    #expect(cell.value(heap) == value)
    #expect(cell.valueSize(heap) == value?.size ?? 0)
    #expect(CellTag.isValue(cell.tag) == (value != nil))
    #expect(Cell.none.value(heap) == nil)
  }

  @Test func `cells are equal if their values are, wherever they lie`() {
    var heap: [UInt8] = []
    var other: [UInt8] = [9, 9, 9, 9]
    for (index, value) in Self.values.enumerated() {
      let cell = Cell(value, heap: &heap)
      for (otherIndex, otherValue) in Self.values.enumerated() {
        let otherCell = Cell(otherValue, heap: &other)
        #expect(
          cell.equals(heap, otherCell, other) == (value == otherValue), "\(index), \(otherIndex)")
      }
    }
  }

  @Test func `a heap word holds a place and a length`() {
    for range in [0..<0, 5..<5, 0..<Cell.heapLengthMax, (1 << 39)..<(1 << 39 + 77)] {
      #expect(Cell.heapRange(Cell.heapWord(range)) == range)
    }
  }

  @Test func `numbers of types are what the formats have`() {
    #expect(
      [
        CellTag.none, CellTag.absent, CellTag.no, CellTag.yes, CellTag.int, CellTag.double,
        CellTag.date, CellTag.string, CellTag.bytes, CellTag.list,
        CellTag.createdList,
      ] == Array(0...10))
    #expect(CellTag.last == 10)
    let operations: [Delta.Operation] = [.put, .putCovering, .add, .splice, .edit]
    #expect(operations.map(\.rawValue) == [0, 1, 2, 3, 4])
    #expect(Delta.Flags.insert | Delta.Flags.delete | Delta.Flags.born == Delta.Flags.known)
  }
}
