import CairnBytes
import TestSupport
import Testing

@testable import CairnMerge

/// Edits that one delta made in several lists of a field, which go to one list in the end.
extension ListHomingTests {
  private var other: Dot { Dot(device: DeviceID(rawValue: 4), sequence: 3) }

  private func span(_ dot: Dot, _ index: UInt32) -> ListEdit.Span {
    ListEdit.Span(first: NodeID(dot, index), count: 1)
  }

  private func read(_ edit: ListEdit) throws -> ListEdit {
    var bytes: [UInt8] = []
    let devices = ListEditCoding.encode(edit, dot: new.dot, into: &bytes)
    return try ListEditCoding.decode(bytes, 0..<bytes.count, dot: new.dot, devices: devices)
  }

  @Test func `two edits are one, and their items keep their numbers`() throws {
    var edit = edit([chain(gone, 3)], ints(5))
    edit.deleted = [span(gone, 4)]
    edit.replaced = [NodeID(other, 6)]
    edit.replacements = ListItems(ints(11))
    var second = self.edit([chain(other, 1), chain(root, 1, .left)], ints(6, 7))
    second.deleted = [span(root, 2), span(other, 5)]
    second.replaced = [NodeID(root, 3)]
    second.replacements = ListItems(ints(12))
    second.numberOn(from: 1, root: root)
    edit.join(second)
    #expect(edit.chains == [chain(gone, 3), chain(other, 1), chain(root, 1, .left)])
    #expect(edit.inserted.values == ints(5, 6, 7))
    #expect(edit.deleted == [span(root, 2), span(gone, 4), span(other, 5)])
    #expect(edit.replaced == [NodeID(root, 3), NodeID(other, 6)])
    #expect(edit.replacements.values == ints(12, 11))
    #expect(try read(edit) == edit)
  }

  @Test func `behind an edit without new items another one keeps its numbers, too`() {
    var edit = ListEdit()
    edit.deleted = [span(gone, 4)]
    var second = self.edit([chain(other, 1)], ints(6))
    second.numberOn(from: 2, root: root)
    edit.join(second)
    #expect(edit.chains == second.chains)
    #expect(edit.inserted == second.inserted)
    #expect(edit.newItems == ints(6))
  }

  @Test func `numbers of a third list between them are places of nothing`() throws {
    var edit = edit([chain(gone, 3)], ints(5))
    var third = self.edit([chain(gone, 9)], ints(7))
    third.numberOn(from: 3, root: gone)
    edit.join(third)
    #expect(
      edit.chains == [chain(gone, 3), chain(gone, NodeID.nowhere, .right, 2), chain(gone, 9)])
    #expect(edit.newItems == ints(5, 7))
    var register = Register(.list(ints(1, 2)), stamp: Stamp(dot: root, time: 1))
    let homed = try #require(register.homed(edit, .remote))
    var whole = chain(root, 2, .right, 4)
    let nothing = NodeID(gone, NodeID.nowhere)
    whole.moves = [1, 2].map { ListEdit.Move(offset: $0, item: nothing) }
    #expect(homed.chains == [whole])
    #expect(homed.inserted.values == ints(5, 7))
    let known = try read(homed)
    #expect(known == homed)
    register.apply(known, stamp: new, context: VersionVector([root, new.dot]))
    #expect(register.visible(.remote) == .list(ints(1, 2, 5, 7)))
    let list = try #require(register.lists.first)
    var bytes: [UInt8] = []
    ListStateCoding.encode(list, into: &bytes)
    var reader = ByteReader(bytes)
    let again = try ListStateCoding.decode(&reader)
    #expect(again == list && again.isInTreeOrder)
    // What came later knows the last one as number 3.
    var later = ListEdit()
    later.deleted = [span(new.dot, 3)]
    let next = Stamp(dot: Dot(device: new.dot.device, sequence: 2), time: 10)
    register.apply(later, stamp: next, context: VersionVector([root, next.dot]))
    #expect(register.visible(.remote) == .list(ints(1, 2, 5)))
  }
}
