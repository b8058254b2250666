import CairnBytes
import CairnMerge
import TestSupport
import Testing

/// Bytes about lists that are whole, and say what can't be.
struct ListRefusalTests {
  private let device = DeviceID(rawValue: 2)
  private var dot: Dot { Dot(device: device, sequence: 9) }
  private var base: Dot { Dot(device: device, sequence: 3) }

  private func encoded(_ edit: ListEdit) -> [UInt8] {
    var bytes: [UInt8] = []
    _ = ListEditCoding.encode(edit, dot: dot, into: &bytes)
    return bytes
  }

  private func refusal(_ bytes: [UInt8]) -> DecodeError? {
    do {
      _ = try ListEditCoding.decode(bytes, 0..<bytes.count, dot: dot, devices: [])
      return nil
    } catch { return error }
  }

  @Test func `replacements are in order, and each is there once`() {
    let orders: [([UInt32], Bool)] = [([1, 2], true), ([2, 1], false), ([1, 1], false)]
    for (indices, isRight) in orders {
      var edit = ListEdit()
      edit.replaced = indices.map { NodeID(base, $0) }
      edit.replacements = ListItems([.int(1), .int(2)])
      let refusal = refusal(encoded(edit))
      #expect(refusal == (isRight ? nil : .malformed("replacements in a list out of order")))
    }
  }

  @Test func `what a delta puts at one place of a list is one chain`() {
    let (first, second) = (NodeID(base, 1), NodeID(base, 2))
    let orders: [([(NodeID, ListEdit.Side)], Bool)] = [
      ([(first, .right), (first, .left), (second, .right), (second, .left)], true),
      ([(first, .right), (first, .right)], false), ([(first, .left), (first, .left)], false),
      ([(first, .right), (second, .right), (first, .left), (first, .right)], false),
    ]
    for (places, isRight) in orders {
      var edit = ListEdit()
      for (parent, side) in places {
        edit.chains.append(ListEdit.Chain(parent: parent, side: side, count: 1))
        edit.inserted.append(FieldValue.int(1))
      }
      #expect(refusal(encoded(edit)) == (isRight ? nil : .malformed("two chains at one place")))
    }
  }

  @Test func `a text is as long as it says, and is text`() {
    var edit = ListEdit()
    edit.chains = [ListEdit.Chain(parent: NodeID(base, 0), side: .right, count: 1)]
    edit.inserted = ListItems([.string("ab")])
    let bytes = encoded(edit)
    #expect(refusal(bytes) == nil)
    var long = bytes
    long[long.count - 3] = 100
    #expect(refusal(long) == .limit)
    var other = bytes
    other[other.count - 2] = 0xFF
    #expect(refusal(other) == .malformed("text is not UTF-8"))
  }

  /// The list of a field whose value was edited, as the only one of a record.
  private func state(isCreated: Bool) -> RecordState {
    let stamp = Stamp(dot: base, time: 5)
    var list = ListState([.int(1), .int(2)], stamp: stamp, isCreated: isCreated)
    list.insert(.int(3), at: 1)
    let edit = list.collect() ?? ListEdit()
    list.commit(edit, stamp: Stamp(dot: dot, time: 6), context: VersionVector([base, dot]))
    var register = Register(.list([]), stamp: stamp, isCreated: isCreated)
    register.lists = [list]
    return RecordState(fields: ["f": register])
  }

  @Test(arguments: [
    (false, "a list of another entry"), (true, "a list of other entries"),
  ]) func `an edited list is its entry's`(isCreated: Bool, rule: StaticText) throws {
    let state = state(isCreated: isCreated)
    var bytes: [UInt8] = []
    RecordStateCoding.encode(state, into: &bytes)
    #expect(try RecordStateCoding.decode(bytes, 0..<bytes.count) == state)
    // No tombstones, no presences, one field, its name, one entry, its device.
    let sequence = 1 + 1 + 1 + 2 + 1 + 8
    #expect(bytes[sequence] == 3)
    bytes[sequence] = 4
    let error = #expect(throws: DecodeError.self) {
      try RecordStateCoding.decode(bytes, 0..<bytes.count)
    }
    #expect(error == .malformed(rule.text))
  }

  /// No stamp takes less than ten bytes, and booleans hardly any.
  @Test func `what three have replaced may be the end of a state, in as few bytes as can be`()
    throws
  {
    let base = Dot(device: device, sequence: 1)
    var list = ListState([.bool(true)], stamp: Stamp(dot: base, time: 0), isCreated: false)
    for number in 0..<3 as Range<UInt64> {
      var edit = ListEdit()
      edit.replaced = [NodeID(base, 1)]
      edit.replacements = ListItems([.bool(number == 1)])
      let dot = Dot(device: DeviceID(rawValue: 10 + number), sequence: 1)
      list.apply(
        edit, stamp: Stamp(dot: dot, time: Int64(number)), context: VersionVector([base, dot]))
    }
    var register = Register(.list([]), stamp: Stamp(dot: base, time: 0))
    register.lists = [list]
    let state = RecordState(fields: ["f": register])
    var bytes: [UInt8] = []
    RecordStateCoding.encode(state, into: &bytes)
    let read = try RecordStateCoding.decode(bytes, 0..<bytes.count)
    #expect(read == state)
    #expect(read.fields["f"]?.lists.first?.conflicts("f", .remote).count == 1)
  }

  @Test func `both values of an item that two have replaced are there`() throws {
    var pair = ListPair((0..<3).map { .int($0) })
    pair.onRemote { $0.replace(at: 1, with: .string("theirs")) }
    pair.onLocal { $0.replace(at: 1, with: .string("mine")) }
    let met = pair.meet()
    let list = try #require(met)
    var register = Register(.list([]), stamp: ListPair.base)
    register.lists = [list]
    var values: Set<FieldValue> = []
    RecordState(fields: ["f": register]).forEachValue { field, value in
      #expect(field == "f")
      values.insert(value)
    }
    #expect(values.isSuperset(of: [.int(0), .string("theirs"), .string("mine"), .int(2)]))
    #expect(!values.contains(.int(1)))
  }

  @Test func `equal states are one in a set`() {
    let edit = state(isCreated: false)
    #expect(Set([edit, state(isCreated: false)]).count == 1)
    #expect(Set([edit, state(isCreated: true)]).count == 2)
    var items = ListItems([.string("a")])
    items.append(.string("b"))
    #expect(Set([items, ListItems([.string("a"), .string("b")])]).count == 1)
    let totals = [Number.int(3), .double(3), .double(.nan)]
    #expect(Set(totals + totals).count == 3)
  }
}

/// A text that a test is given as an argument.
struct StaticText: ExpressibleByStringLiteral, Sendable {
  var text: StaticString

  init(stringLiteral text: StaticString) { self.text = text }
}
