import CairnBytes
import CairnMerge
import Testing

/// Packs of which only some tables are kept, and the lists in these.
struct ListTableChoiceTests {
  private let device = DeviceID(rawValue: 1)
  private let other = DeviceID(rawValue: 2)

  /// Takes out items of the other device.
  private func edit(_ index: UInt32) -> ListEdit {
    var edit = ListEdit()
    let first = NodeID(Dot(device: other, sequence: 4), index)
    edit.deleted = [ListEdit.Span(first: first, count: 2)]
    return edit
  }

  @Test func `what is done to lists of chosen tables is kept, each with its own list`() throws {
    var splices = ListSplices()
    splices.steps = [ListSplices.Step(skipped: 1, deleted: 2, inserted: 1)]
    splices.inserted = ListItems([.string("ä")])
    var one = HandmadeDelta(device, 5)
    one.add("a", records: ["x"], .edit)
    one.add("t", records: ["y", "z"], .edit)
    one.add("u", records: ["w", "v"], .splice)
    for cell in 0..<3 { one.delta.edits[cell] = edit(UInt32(cell)) }
    one.delta.splices[4] = splices
    let pack = HandmadeDelta.pack([one])

    func chosen(_ choice: TableChoice) throws -> Delta {
      try #require(try HandmadeDelta.read(choice.chosen(of: pack)).first)
    }
    let most = try chosen(.except(["a"]))
    #expect(most.sections.map(\.table) == ["t", "u"])
    #expect((0..<4).map { most.edits[$0] } == [edit(1), edit(2), nil, nil])
    #expect((0..<4).map { most.splices[$0] } == [nil, nil, ListSplices(), splices])
    let few = try chosen(.only(["u"]))
    #expect(few.sections.map(\.table) == ["u"])
    #expect(few.edits.isEmpty)
    #expect((0..<2).map { few.splices[$0] } == [ListSplices(), splices])
  }
}
