import CairnBytes
import CairnMerge
import Testing

/// Deltas that are written once more on top of all that is there, and what edits and cuts among
/// them become.
extension MovedDeltaTests {
  /// Behind all others, so that names which move come to stand elsewhere.
  private var late: DeviceID { DeviceID(rawValue: 5) }

  private func read(_ moved: Reauthoring) throws -> [Delta] {
    try moved.packs.flatMap { try HandmadeDelta.read($0) }
  }

  @Test func `on top of all the first delta has seen all that is there, and the rest no more`()
    throws
  {
    let present = VersionVector([dot(old, 2), dot(other, 7), dot(third, 4)])
    var moved = Reauthoring(
      CommonBranch(old, through: 2), author: late, present: present, isOnTop: true)
    try moved.add(
      pack: HandmadeDelta.pack([
        inserted(3, after: [dot(other, 5)]), inserted(4, after: [dot(other, 9)]),
        inserted(5, after: [dot(third, 1)]),
      ]))
    let deltas = try read(moved)
    #expect(deltas.map(\.dependencies) == [Array(present.entries), [], []])
    #expect(deltas.map(\.dot) == [dot(late, 1), dot(late, 2), dot(late, 3)])
  }

  @Test func `cuts are not written once more, and no number of a delta is left out`() throws {
    for author in [old, late] {
      var cut = HandmadeDelta(old, 3)
      cut.add(Cut.table, records: ["c"], .put, [.bytes([1])])
      var both = HandmadeDelta(old, 4)
      both.add(Cut.table, records: ["c"], .put, [.bytes([2])])
      both.add("t", records: ["r"], .put, [.int(5)])
      var moved = Reauthoring(
        CommonBranch(old, through: 2), author: author, present: VersionVector())
      try moved.add(pack: HandmadeDelta.pack([cut, both]))
      let deltas = try read(moved)
      #expect(deltas.map { $0.sections.map(\.table) } == [[], ["t"]])
      let first: UInt64 = author == old ? 3 : 1
      #expect(deltas.map(\.dot) == [dot(author, first), dot(author, first + 1)])
    }
  }

  @Test func `edits of lists name items by the names that their deltas have now`() throws {
    let moves = [ListEdit.Move(offset: 1, item: NodeID(dot(old, 3), 6))]
    var edit = ListEdit()
    edit.chains = [
      ListEdit.Chain(parent: NodeID(dot(old, 3), 1), side: .left, count: 2, moves: moves),
      ListEdit.Chain(parent: NodeID(dot(old, 2), 1), side: .right, count: 1),
    ]
    edit.inserted = ListItems([.int(7), .int(8)])
    edit.deleted = [
      ListEdit.Span(first: NodeID(dot(old, 2), 0), count: 2),
      ListEdit.Span(first: NodeID(dot(old, 3), 5), count: 1),
      ListEdit.Span(first: NodeID(dot(other, 4), 0), count: 3),
    ]
    edit.replaced = [NodeID(dot(old, 2), 9), NodeID(dot(old, 3), 2), NodeID(dot(other, 8), 1)]
    edit.replacements = ListItems([.int(1), .int(2), .int(3)])
    var edits = HandmadeDelta(old, 4)
    edits.add("t", records: ["l"], .edit)
    edits.delta.edits[0] = edit
    var moved = Reauthoring(
      CommonBranch(old, through: 2), author: late, present: VersionVector([dot(old, 2)]))
    try moved.add(pack: HandmadeDelta.pack([inserted(3), edits]))

    var expected = edit
    expected.chains[0].parent = NodeID(dot(late, 1), 1)
    expected.chains[0].moves[0].item = NodeID(dot(late, 1), 6)
    // In the order of the new names, and each value with its item.
    expected.deleted = [
      edit.deleted[0], edit.deleted[2], ListEdit.Span(first: NodeID(dot(late, 1), 5), count: 1),
    ]
    expected.replaced = [edit.replaced[0], edit.replaced[2], NodeID(dot(late, 1), 2)]
    expected.replacements = ListItems([.int(1), .int(3), .int(2)])
    #expect(try read(moved).last?.edits[0] == expected)
  }
}
