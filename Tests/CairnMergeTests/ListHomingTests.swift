import TestSupport
import Testing

@testable import CairnMerge

/// Edits that name nodes which are not in a list any more.
struct ListHomingTests {
  let root = Dot(device: DeviceID(rawValue: 1), sequence: 1)
  let gone = Dot(device: DeviceID(rawValue: 2), sequence: 7)
  let new = Stamp(dot: Dot(device: DeviceID(rawValue: 3), sequence: 1), time: 9)

  func ints(_ values: Int64...) -> [FieldValue] { values.map { .int($0) } }

  private func register(_ items: [FieldValue]) -> Register {
    Register(.list(items), stamp: Stamp(dot: root, time: 1))
  }

  func chain(
    _ dot: Dot, _ index: UInt32, _ side: ListEdit.Side = .right, _ count: UInt32 = 1
  ) -> ListEdit.Chain {
    ListEdit.Chain(parent: NodeID(dot, index), side: side, count: count)
  }

  func edit(_ chains: [ListEdit.Chain], _ values: [FieldValue]) -> ListEdit {
    var edit = ListEdit()
    edit.chains = chains
    edit.inserted = ListItems(values)
    return edit
  }

  private func applied(_ edit: ListEdit, to register: Register) -> FieldValue? {
    var register = register
    let context = VersionVector([root, new.dot])
    register.apply(edit, stamp: new, context: context)
    return register.lists.first.map { .list($0.values(.remote)) }
  }

  @Test func `an edit whose nodes are all there stays as it is`() {
    let edit = edit([chain(root, 1), chain(root, 2, .left)], ints(5, 6))
    #expect(register(ints(1, 2)).homed(edit, .remote) == edit)
  }

  @Test func `items without a home go to the end, in their order`() throws {
    let list = register(ints(1, 2))
    let edit = edit([chain(gone, 3, .left, 2), chain(gone, 5)], ints(5, 6, 7))
    #expect(applied(edit, to: list) == nil)
    let homed = try #require(list.homed(edit, .remote))
    #expect(homed.nodeCount == 3)
    #expect(applied(homed, to: list) == .list(ints(1, 2, 5, 6, 7)))
  }

  @Test func `items keep their numbers, and two chains never hang on one place`() throws {
    let list = register(ints(1, 2))
    let edit = edit(
      [chain(root, 0, .right), chain(gone, 3), chain(root, 1), chain(root, 2)],
      ints(4, 5, 6, 7))
    let homed = try #require(list.homed(edit, .remote))
    #expect(homed.chains == [chain(root, 0), chain(root, 2, .right, 3)])
    #expect(homed.inserted == edit.inserted)
  }

  @Test func `moves go along with their chain`() throws {
    let list = register(ints(1, 2))
    var edit = edit([chain(gone, 1), chain(gone, 2, .right, 2)], ints(5, 6))
    edit.chains[1].moves = [ListEdit.Move(offset: 1, item: NodeID(root, 1))]
    let homed = try #require(list.homed(edit, .remote))
    #expect(homed.chains[0].moves == [ListEdit.Move(offset: 2, item: NodeID(root, 1))])
    #expect(applied(homed, to: list) == .list(ints(2, 5, 6, 1)))
  }

  @Test func `where there is no list there is no home`() {
    let edit = edit([chain(gone, 3)], ints(5))
    #expect(Register().homed(edit, .remote) == nil)
    #expect(Register(.int(1), stamp: Stamp(dot: root, time: 1)).homed(edit, .remote) == nil)
  }

  @Test func `items of a list that was begun apart go behind, and keep their names`() throws {
    var list = register(ints(1, 2))
    let edit = try #require(list.appending(ints(5, 6), .remote))
    #expect(edit.newItems == ints(5, 6))
    var bytes: [UInt8] = []
    let devices = ListEditCoding.encode(edit, dot: new.dot, into: &bytes)
    let read = try ListEditCoding.decode(
      bytes, 0..<bytes.count, dot: new.dot, devices: devices)
    #expect(read == edit)
    list.apply(edit, stamp: new, context: VersionVector([root, new.dot]))
    #expect(list.visible(.remote) == .list(ints(1, 2, 5, 6)))
    var later = self.edit([chain(new.dot, 0), chain(new.dot, 2), chain(new.dot, 1)], ints(7, 8, 9))
    later.deleted = [ListEdit.Span(first: NodeID(new.dot, 1), count: 1)]
    // The root of that list is no node: what hangs on it goes to the end.
    let homed = try #require(list.homed(later, .remote))
    #expect(homed.chains == [chain(new.dot, 2, .right, 2), chain(new.dot, 1)])
    #expect(homed.deleted == later.deleted)
  }

  @Test func `nothing goes behind nothing, or where there is no list`() {
    #expect(register(ints(1)).appending([], .remote) == ListEdit())
    #expect(Register().appending(ints(5), .remote) == nil)
    let number = Register(.int(1), stamp: Stamp(dot: root, time: 1))
    #expect(number.appending(ints(5), .remote) == nil)
  }
}
