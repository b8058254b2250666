import CairnBytes
import CairnMerge
import Testing

/// Bytes made by hand, each breaking one rule.
struct DeltaRefusalTests {
  /// time 0, no dependencies, one table "t", one record "r" inserted, then `columns`.
  private func delta(
    table: [UInt8] = [0, 1, 0x74], count: UInt8 = 1, flags: [UInt8] = [0, 1],
    references: [UInt8] = [1, 1, 1, 0x72], columns: [UInt8] = [0]
  ) -> [UInt8] {
    [0, 0, 1] + table + [count] + flags + references + columns
  }

  private func failure(_ bytes: [UInt8]) -> DecodeError? {
    var decoder = DeltaDecoder()
    return failure(bytes, &decoder)
  }

  private func failure(_ bytes: [UInt8], _ decoder: inout DeltaDecoder) -> DecodeError? {
    var delta = Delta()
    var reader = ByteReader(bytes)
    do {
      try decoder.decode(&reader, dot: delta.dot, into: &delta)
      return reader.isAtEnd ? nil : .malformed("left over")
    } catch { return error }
  }

  /// One column "f" of this code, form and cells.
  private func column(_ rest: [UInt8]) -> [UInt8] { delta(columns: [1, 1, 1, 0x66] + rest) }

  @Test func `the sample itself is good`() {
    #expect(failure(delta()) == nil)
    #expect(failure(column([0, CellTag.yes])) == nil)
    #expect(failure(column([0, CellTag.int, 2])) == nil)
    #expect(failure(column([0, CellTag.string, 1, 0x61])) == nil)
    #expect(failure(column([2, CellTag.int, 2, 1, CellTag.int, 2])) == nil)
  }

  @Test func `names follow the grammar`() {
    #expect(failure(delta(table: [0, 0])) == .malformed("a name breaks the id grammar"))
    #expect(failure(delta(table: [0, 1, 0x20])) == .malformed("a name breaks the id grammar"))
    #expect(failure(delta(table: [0, 1, 0xFF])) == .malformed("text is not UTF-8"))
    #expect(failure(delta(table: [1])) == .malformed("unknown name number"))
    let long = [UInt8](repeating: 0x61, count: 65)
    #expect(failure(delta(table: [0, 65] + long)) == .malformed("a name breaks the id grammar"))
  }

  @Test func `record ids follow the grammar and have one form`() {
    #expect(
      failure(delta(references: [1, 1, 1, 0x20])) == .malformed("a record id breaks the id grammar")
    )
    #expect(
      failure(delta(references: [1, 1, 0])) == .malformed("a record id breaks the id grammar"))
    let packed = Array(Base64ID.encode(1, 2).utf8)
    #expect(
      failure(delta(references: [1, 1, 22] + packed))
        == .malformed("a record id is not in its one form"))
    #expect(failure(delta(references: [1, 2])) == .malformed("unknown record number"))
    #expect(failure(delta(references: [2])) == .malformed("unknown form of record references"))
  }

  @Test func `a record of one table is unknown in another`() {
    let two: [UInt8] =
      [0, 0, 2] + [0, 1, 0x74, 1, 0, 1, 1, 1, 1, 0x72, 0] + [1, 1, 0x75, 1, 0, 0, 1, 2, 0]
    #expect(failure(two) == .malformed("unknown record number"))
  }

  @Test func `a table has records, and no more than its bytes`() {
    #expect(failure(delta(count: 0)) == .malformed("a table without records"))
    #expect(failure(delta(count: 100)) == .limit)
  }

  @Test func `what a later version may write asks for one`() {
    #expect(failure(delta(flags: [0, 8])) == .newer("unknown record flags"))
    #expect(failure(column([5, CellTag.yes])) == .newer("unknown operation"))
    #expect(failure(column([0x7F, CellTag.yes])) == .newer("unknown operation"))
  }

  @Test func `cells have known types`() {
    for tag in [0, 11, 0x7F, 0xFD] as [UInt8] {
      #expect(failure(column([0, tag, 0, 0])) == .malformed("unknown cell type"))
      #expect(failure(column([0, 0xFF, tag, 0])) == .malformed("unknown cell type"))
    }
    #expect(failure(column([0, CellTag.double, 10, 0])) == .malformed("unknown form of doubles"))
    #expect(
      failure(column([2, CellTag.yes])) == .malformed("an addition to something that is no number"))
    #expect(
      failure(column([2, CellTag.int, 2, 1, CellTag.date, 2]))
        == .malformed("a total is neither integer nor double"))
    let infinite = [2, CellTag.int, 2, 1, CellTag.double, 0, 0, 0, 0, 0, 0, 0xF0, 0x7F] as [UInt8]
    #expect(failure(column(infinite)) == .malformed("a total that is no number"))
  }

  @Test func `text and lists are checked where they come in`() {
    #expect(failure(column([0, CellTag.string, 1, 0xFF])) == .malformed("text is not UTF-8"))
    #expect(failure(column([0, CellTag.string, 2, 0x61])) == .limit)
    #expect(failure(column([0, CellTag.list, 1, 1])) == .limit)
    #expect(
      failure(column([0, CellTag.list, 2, 1, CellTag.list]))
        == .malformed("unknown type of a list item"))
    #expect(
      failure(column([0, CellTag.list, 2, 0, 0])) == .malformed("bytes after the last list item"))
  }

  @Test func `cells are in the order of their records`() {
    let refused = DecodeError.malformed("cells are not in order")
    #expect(failure(column([0x80, 1, 1, CellTag.yes])) == refused)
    #expect(failure(column([0x80, 0, CellTag.yes])) == .malformed("cells do not fit records"))
    #expect(
      failure(column([0x80, 2, 0, 0, CellTag.yes])) == .malformed("cells do not fit records"))
    #expect(failure(column([0x80, 1, 0, CellTag.yes])) == nil)
  }

  @Test func `dots have a device and a sequence`() {
    let device = [UInt8](repeating: 1, count: 8)
    let zero = [UInt8](repeating: 0, count: 8)
    func head(_ dot: [UInt8]) -> [UInt8] { [0, 1] + dot + [0] }
    #expect(failure(head([0] + device + [1])) == nil)
    #expect(failure(head([0] + device + [0])) == .malformed("a dot without a sequence"))
    #expect(failure(head([0] + zero + [1])) == .malformed("a device without a number"))
    #expect(failure(head([1, 1])) == .malformed("unknown device number"))
  }

  /// Time 0, so many dependencies on devices that are new, no tables.
  private func naming(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = [0]
    bytes.putVarint(count)
    for index in 0..<count {
      bytes.putVarint(index)
      bytes.put(UInt64(index) + 1)
      bytes.put(1 as UInt8)
    }
    bytes.put(0 as UInt8)
    return bytes
  }

  @Test func `a scope names no more devices than there may be`() {
    #expect(failure(naming(FormatBounds.devices)) == nil)
    #expect(failure(naming(FormatBounds.devices + 1)) == .malformed("unknown device number"))
  }

  @Test(arguments: [2, 16, 17, 40])
  func `a delta says once what it has seen of a device`(count: Int) {
    // The last one is the first one again, by its number in the scope.
    var bytes: [UInt8] = [0]
    bytes.putVarint(count)
    for index in 0..<(count - 1) {
      bytes.putVarint(index)
      bytes.put(UInt64(index) + 1)
      bytes.put(1 as UInt8)
    }
    bytes += [0, 2, 0]
    #expect(failure(bytes) == .malformed("a delta says twice what it has seen of a device"))
  }

  // MARK: what a delta puts into lists

  /// How many items a delta may put into lists.
  private let most: UInt64 = 1 << 24

  /// What one cell of an edit's column says: a chain of so many items, with these of their bytes.
  /// The first names a device.
  private func edit(_ count: UInt64, _ items: [UInt8], isFirst: Bool = false) -> [UInt8] {
    var body: [UInt8] = [1, 1]
    body.putVarint(count << 2)
    body += [1, 1, 0] + items
    let device: [UInt8] = isFirst ? [0, 7, 0, 0, 0, 0, 0, 0, 0] : [0]
    return [1] + device + [UInt8(body.count)] + body
  }

  /// What one cell of a column of splices says: one step that puts in so many items.
  private func splices(_ count: UInt64, _ items: [UInt8]) -> [UInt8] {
    var body: [UInt8] = [1, 0, 0]
    body.putVarint(count)
    body += items
    return [UInt8(body.count)] + body
  }

  /// An edit of one item, and one of so many in the same column, or in another one.
  private func edits(_ count: UInt64, _ items: [UInt8], apart: Bool = false) -> [UInt8] {
    together(4, edit(1, [CellTag.yes], isFirst: true), edit(count, items), apart: apart)
  }

  private func spliced(_ count: UInt64, _ items: [UInt8], apart: Bool = false) -> [UInt8] {
    together(3, splices(1, [CellTag.yes]), splices(count, items), apart: apart)
  }

  /// Two cells of two records, or of two fields of one.
  private func together(
    _ operation: UInt8, _ first: [UInt8], _ second: [UInt8], apart: Bool
  ) -> [UInt8] {
    let column: [UInt8] = [1, 1, 0x66, operation]
    if apart {
      let other: [UInt8] = [2, 1, 0x67, operation]
      return delta(columns: [2] + column + first + other + second)
    }
    return delta(
      count: 2, references: [1, 1, 1, 1, 0x72, 1, 0x73], columns: [1] + column + first + second)
  }

  @Test func `all edits of a delta together put in no more items than one may`() {
    let bits: UInt8 = 0xFE
    for apart in [false, true] {
      #expect(failure(edits(3, [bits, 5], apart: apart)) == nil)
      #expect(failure(spliced(3, [bits, 5], apart: apart)) == nil)
      // No item is read before they are counted: there are none here.
      #expect(failure(edits(most - 1, [bits], apart: apart)) == .truncated)
      #expect(failure(edits(most, [bits], apart: apart)) == .limit)
      #expect(failure(spliced(most - 1, [bits], apart: apart)) == .truncated)
      #expect(failure(spliced(most, [bits], apart: apart)) == .limit)
    }
  }

  @Test func `what one delta puts into lists is not counted with the next one`() {
    for (good, full) in [
      (edits(3, [0xFE, 5]), edits(most - 1, [0xFE])),
      (spliced(3, [0xFE, 5]), spliced(most - 1, [0xFE])),
    ] {
      var decoder = DeltaDecoder()
      let start = decoder.mark
      let first = failure(good, &decoder)
      // For the names only: they are new in both.
      decoder.goBack(to: start)
      let second = failure(full, &decoder)
      #expect(first == nil)
      #expect(second == .truncated)
    }
  }
}
