import CairnBytes
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// Every form of a column goes into a block and comes out of it.
struct BlockFormTests {
  static let columns: [(form: BlockColumn.Form, values: [FieldValue?])] = [
    (.ints, [.int(7), .int(7), .int(7)]),
    (.ints, [.int(-1), .int(254), .int(3)]),
    (.ints, [.int(0), .int(65_535), .int(256)]),
    (.ints, [.int(0), .int(1 << 20), .int(5)]),
    (.ints, [.int(0), .int(1 << 40), .int(1 << 31)]),
    (.ints, [.int(.min), .int(.max), .int(0)]),
    (.dates, [.date(1_700_000_000_000), .date(1_700_000_000_001), .date(-5)]),
    (.doubles, [.double(.pi), .double(.nan), .double(-0.0)]),
    (.doubles, [.double(9e15), .double(0.5), .double(1e-9)]),
    (.decimals, [.double(19.99), .double(-5), .double(0.1)]),
    (.bits, [.bool(true), .bool(false), .bool(true)]),
    (.heap, [.string(""), .string("naïve"), .string("👩‍👩‍👧")]),
    (.heap, [.bytes([1]), .bytes([]), .bytes([0xFF, 0xC0])]),
    (.heap, [.list([]), .list([.int(1)]), .list([.string("é"), .bool(true)])]),
    (.heap, [.string(String(repeating: "x", count: 70_000)), .string("y"), .string("")]),
    (.mixed, [.int(1), .string("é"), .double(2.5)]),
    (.mixed, [.list([.int(3)]), nil, .bytes([9])]),
    (.mixed, [.bool(true), .int(0), .date(0)]),
  ]

  @Test(arguments: columns.indices)
  func `a full column`(index: Int) throws {
    let (form, values) = Self.columns[index]
    var sample = BlockSample()
    let bytes = sample.block(
      values.enumerated().map { SampleRow(packed($0), [("f", $1, .settled)]) })
    var numbers = FieldNumbers()
    let block = try Block(bytes, numbers: &numbers)
    #expect(block.columns.map(\.form) == [form])
    for row in values.indices { #expect(block.cell(row, 0).value(block.bytes) == values[row]) }
    #expect(block.cell(0, 1).tag == CellTag.none)
  }

  @Test func `long columns of every form`() throws {
    let random = SeededRandom(20)
    var rows: [SampleRow] = []
    for index in 0..<1_000 {
      var fields: [(String, FieldValue?, Stamp)] = [
        ("bits", .bool(random.coin()), .settled), ("int", .int(Int64(index * index)), .settled),
        ("text", .string(String(repeating: "ab", count: random.below(8))), .settled),
        ("price", .double(Double(random.below(100_000)) / 100), .settled),
        ("wild", .double(Double(random.next()) / 3), .settled),
      ]
      if random.coin() { fields.append(("half", .int(Int64(index)), .settled)) }
      if index % 97 == 0 { fields.append(("rare", .string("r\(index)"), .settled)) }
      if index == 500 { fields.append(("once", nil, stamp(1, 1))) }
      rows.append(SampleRow(packed(index), fields))
    }
    var sample = BlockSample()
    var numbers = FieldNumbers()
    let block = try Block(sample.block(rows), numbers: &numbers)
    #expect(block.columns.map { numbers.names[$0.field] } == sample.fields.sorted())
    let forms = Dictionary(
      uniqueKeysWithValues: block.columns.map { (numbers.names[$0.field], $0.form) })
    #expect(
      forms == [
        "bits": .bits, "int": .ints, "text": .heap, "price": .decimals, "wild": .doubles,
        "half": .mixed, "rare": .sparse, "once": .sparse,
      ])
    for (index, row) in rows.enumerated() {
      let expected = Dictionary(uniqueKeysWithValues: row.fields.map { ($0.0, $0.1) })
      #expect(block.content(index, numbers) == expected)
      #expect(block.isRow(index, row.name) && !block.isRow(index, .packed(1, 1)))
    }
    #expect(!block.isRow(1_000, .packed(0, 1_000)))
  }

  @Test func `ids of both kinds and of every length`() throws {
    for isPacked in [true, false] {
      let names: [RecordName] = (1...64).map {
        isPacked ? .packed(UInt64($0), 7) : .text(String(repeating: "k", count: $0))
      }
      var sample = BlockSample()
      var numbers = FieldNumbers()
      let block = try Block(sample.block(names.map { SampleRow($0) }), numbers: &numbers)
      #expect((0..<64).map { block.name($0) } == names)
      #expect(block.columns.isEmpty && !block.hasComplexRows)
    }
  }

  @Test func `names of fields and tables have numbers for all blocks`() throws {
    var sample = BlockSample(fields: ["z", "a"])
    var numbers = FieldNumbers()
    let first = try Block(
      sample.block([SampleRow(.packed(0, 1), settled: [("z", .int(1))])]), numbers: &numbers)
    let second = try Block(
      sample.block(
        [SampleRow(.packed(0, 2), settled: [("a", .int(2)), ("z", .int(3))])], table: 5),
      numbers: &numbers)
    #expect(numbers.names == ["z", "a"])
    #expect(first.table == 0 && second.table == 5)
    #expect(first.cell(0, 1).tag == CellTag.none)
    #expect(second.cell(0, 0).value(second.bytes) == .int(3))
    #expect(second.cell(0, 1).value(second.bytes) == .int(2))
  }
}
