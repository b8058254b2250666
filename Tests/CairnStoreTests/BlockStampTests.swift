import CairnBytes
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

struct BlockStampTests {
  private func read(_ rows: [SampleRow]) throws -> (Block, FieldNumbers) {
    var sample = BlockSample()
    var numbers = FieldNumbers()
    return (try Block(sample.block(rows), numbers: &numbers), numbers)
  }

  private func check(_ rows: [SampleRow]) throws {
    let (block, numbers) = try read(rows)
    for (index, row) in rows.enumerated() {
      #expect(block.presence(index) == row.presence)
      for (field, _, stamp) in row.fields {
        let column = try #require(block.columns.first { numbers.names[$0.field] == field })
        #expect(block.stamp(index, column) == stamp)
      }
    }
  }

  @Test func `all settled, all as the presence, and each its own`() throws {
    let settled = [Stamp](repeating: .settled, count: 20)
    let own: [Stamp] = (0..<20).map { stamp(3, $0 + 1) }
    let other: [Stamp] = (0..<20).map { stamp(9 - $0 % 3, $0 + 5, -$0) }
    for presences in [settled, own, other] {
      for cells in [settled, own, other] {
        let rows: [SampleRow] = (0..<20).map { index in
          let field: (String, FieldValue?, Stamp) = ("f", .int(1), cells[index])
          return SampleRow(packed(index), presence: presences[index], [field])
        }
        try check(rows)
      }
    }
  }

  @Test func `many stamps take wider numbers`() throws {
    for count in [255, 256, 300, 2_000] {
      var rows: [SampleRow] = []
      for index in 0..<count {
        var row = SampleRow(packed(index), presence: stamp(1, index + 1))
        if index % 3 == 0 { row.fields.append(("f", .int(1), stamp(2, index + 1))) }
        rows.append(row)
      }
      try check(rows)
    }
  }

  @Test func `a row of very many fields with a stamp each`() throws {
    let names: [String] = (0..<66_000).map { "f\($0)" }
    var builder = BlockBuilder(table: 0)
    var row = BlockBuilder.Row()
    for index in names.indices {
      let cell = Cell(tag: CellTag.yes)
      row.cells.append(
        BlockBuilder.RowCell(field: index, cell: cell, stamp: stamp(1, index + 1), isBase: false))
    }
    builder.add(row, hash: 0, heap: [], baseHeap: [])
    var numbers = FieldNumbers()
    let block = try Block(builder.finish(fields: names), numbers: &numbers)
    #expect(block.columns.count == names.count)
    var wrong = 0
    for column in block.columns {
      let index = Int(numbers.names[column.field].dropFirst()) ?? -1
      if block.stamp(0, column) != stamp(1, index + 1) { wrong += 1 }
    }
    #expect(wrong == 0)
  }

  @Test func `the order in which cells came does not show`() {
    var rows: [SampleRow] = []
    for index in 0..<30 {
      var row = SampleRow(packed(index), presence: stamp(1, index + 1))
      row.fields.append(("a", .int(1), stamp(2, 40 - index)))
      row.fields.append(("b", .string("x"), stamp(3, 7)))
      row.fields.append(("c", .bool(true), stamp(1, index / 2 + 1)))
      rows.append(row)
    }
    var forward = BlockSample(fields: ["a", "b", "c"])
    var backward = BlockSample(fields: ["c", "b", "a"])
    let turned = rows.map { row in
      var copy = row
      copy.fields.reverse()
      return copy
    }
    #expect(forward.block(rows) == backward.block(turned))
  }

  @Test func `records in conflict keep all of their state`() throws {
    let state = RecordState(
      tombstones: [
        Tombstone(
          dot: Dot(device: DeviceID(rawValue: 4), sequence: 2),
          context: VersionVector([Dot(device: DeviceID(rawValue: 4), sequence: 2)]))
      ],
      presences: [Presence(stamp: stamp(1, 1), born: [])],
      fields: ["f": Register(.string("é"), stamp: stamp(1, 2))])
    let rows = (0..<10).map {
      SampleRow(packed($0), state: [0, 3, 9].contains($0) ? state : nil)
    }
    let (block, _) = try read(rows)
    #expect(block.hasComplexRows)
    #expect(block.complexRows == [0, 3, 9])
    for row in 0..<10 {
      let range = block.complexState(row)
      #expect((range != nil) == [0, 3, 9].contains(row))
      if let range { #expect(try RecordStateCoding.decode(block.bytes, range) == state) }
    }
  }
}
