import CairnBytes
import CairnMerge
import TestSupport
import Testing

/// A keystroke's delta is written in a short way, as the bytes that the long one writes, and leaves
/// the list that the long one leaves.
struct ListDeltaTests {
  private static let (own, other) = (DeviceID(rawValue: 7), DeviceID(rawValue: 9))

  private static func first() -> Delta {
    var delta = Delta()
    delta.dot = Dot(device: own, sequence: 1)
    delta.time = 1_000
    delta.newNames = [.text("first"), .packed(1, 2)]
    delta.records = [0, 1].map { Delta.RecordEntry(flags: Delta.Flags.insert, reference: $0) }
    delta.sections = [Delta.Section(table: "texts", records: 0..<2, columns: 0..<0)]
    return delta
  }

  private static func list(_ random: SeededRandom, isPlain: Bool) -> ListState {
    let values = (0..<random.below(4)).map { FieldValue.int(Int64($0)) }
    if isPlain { return ListState(plain: values, isCreated: false) }
    let author = random.coin() ? own : other
    return ListState(
      values, stamp: Stamp(dot: Dot(device: author, sequence: 1), time: 1_000),
      isCreated: random.coin())
  }

  private static func value(_ random: SeededRandom) -> FieldValue {
    switch random.below(9) {
    case 0: .int(Int64(random.below(1_000)) - 500)
    case 1: .bool(random.coin())
    case 2: .double(Double(random.below(100)) / 10)
    case 3: .date(Int64(random.below(1_000)))
    case 4: .bytes([1, 2, 3])
    // Around what a length of one byte can say, and of two.
    case 5: .string(String(repeating: "x", count: random.below(300)))
    case 6: .string(String(repeating: "x", count: 16_340 + random.below(60)))
    default: .string(["a", "b", "é", ""][random.below(4)])
    }
  }

  /// One edit. Whether it is a stroke by itself.
  private static func edit(_ list: inout ListState, _ random: SeededRandom) -> Bool {
    if list.count == 0 || random.below(5) < 3 {
      list.insert(value(random), at: random.below(list.count + 1))
      return true
    }
    let index = random.below(list.count)
    switch random.below(6) {
    case 0:
      list.replace(at: index, with: .string("new"))
      return false
    case 1:
      list.move(from: index, to: random.below(list.count))
      return false
    default:
      list.remove(at: index)
      return true
    }
  }

  /// Somebody else, who has seen everything, edits the list, and his edit comes here.
  private static func editElsewhere(
    _ list: inout ListState, _ seen: inout VersionVector, _ random: SeededRandom
  ) {
    var there = list
    for _ in 0...random.below(3) { _ = edit(&there, random) }
    guard let edit = there.collect() else { return }
    let dot = Dot(device: other, sequence: seen[other] + 1)
    list.apply(edit, stamp: Stamp(dot: dot, time: 2_000), context: seen)
    seen.insert(dot)
  }

  /// What there is to say beside the edit.
  private struct Head {
    var dot: Dot
    var time: Int64
    var table: String
    var field: String
    var reference: UInt32
  }

  /// Writes a stroke in the short way; in the long one, and returns false, if the scope does not
  /// know all names yet.
  private static func put(
    _ head: Head, _ stroke: ListStroke, of list: inout ListState, or delta: Delta,
    by encoder: inout DeltaEncoder, into bytes: inout [UInt8]
  ) -> Bool {
    if let names = encoder.numbers(table: head.table, field: head.field) {
      let short = ListDelta(
        dot: head.dot, time: head.time, names: names, reference: head.reference)
      if encoder.encode(short, stroke, of: &list, into: &bytes) { return true }
    }
    encoder.encode(delta, heap: [], into: &bytes)
    return false
  }

  /// The delta of what is pending in a list, in the long way.
  private static func delta(_ head: Head, of list: inout ListState, isPlain: Bool) -> Delta {
    if !isPlain { return delta(head, list.collect()) }
    var delta = delta(head, nil)
    delta.splices[0] = list.collectSplices()
    delta.columns[0].operation = .splice
    return delta
  }

  private static func delta(_ head: Head, _ edit: ListEdit?) -> Delta {
    var delta = Delta()
    (delta.dot, delta.time) = (head.dot, head.time)
    delta.records = [Delta.RecordEntry(flags: 0, reference: head.reference)]
    (delta.rows, delta.tags, delta.words) = ([0], [CellTag.none], [0])
    delta.edits[0] = edit
    delta.columns = [Delta.Column(field: head.field, operation: .edit, cells: 0..<1)]
    delta.sections = [Delta.Section(table: head.table, records: 0..<1, columns: 0..<1)]
    return delta
  }

  private static func head(_ sequence: UInt64, field: String) -> Head {
    Head(
      dot: Dot(device: own, sequence: sequence), time: 2_000, table: "texts", field: field,
      reference: 0)
  }

  @Test(arguments: 0..<80 as Range<UInt64>)
  func `both ways write the same bytes and leave the same list`(seed: UInt64) {
    let random = SeededRandom(seed)
    let isPlain = seed % 4 == 3
    var list = ListDeltaTests.list(random, isPlain: isPlain)
    var seen = VersionVector([
      Dot(device: ListDeltaTests.own, sequence: 1), Dot(device: ListDeltaTests.other, sequence: 1),
    ])
    var (long, short) = (DeltaEncoder(), DeltaEncoder())
    var (longBytes, shortBytes): ([UInt8], [UInt8]) = ([], [])
    long.encode(ListDeltaTests.first(), heap: [], into: &longBytes)
    short.encode(ListDeltaTests.first(), heap: [], into: &shortBytes)
    var shortCount = 0
    for sequence in 2..<60 as Range<UInt64> {
      if !isPlain, random.below(6) == 0 { ListDeltaTests.editElsewhere(&list, &seen, random) }
      var isStroke = ListDeltaTests.edit(&list, random)
      // Two edits are one stroke if they leave one of them; so it may be either.
      let isDouble = random.below(8) == 0
      if isDouble { isStroke = ListDeltaTests.edit(&list, random) && isStroke }
      let head = Head(
        dot: Dot(device: ListDeltaTests.own, sequence: sequence),
        time: 1_000 + Int64(sequence) * Int64(random.below(1_000)),
        table: random.coin() ? "texts" : "more", field: random.coin() ? "items" : "lines",
        reference: UInt32(random.below(2)))
      let stamp = Stamp(dot: head.dot, time: head.time)
      var other = list
      let delta = ListDeltaTests.delta(head, of: &other, isPlain: isPlain)
      let stroke = list.stroke()
      if !isDouble { #expect((stroke != nil) == isStroke) }
      if let stroke {
        long.encode(delta, heap: [], into: &longBytes)
        let isShort = ListDeltaTests.put(
          head, stroke, of: &list, or: delta, by: &short, into: &shortBytes)
        if isShort { shortCount += 1 }
        #expect(longBytes == shortBytes)
        list.commit(stroke, stamp: stamp)
      } else if isPlain {
        list.commitPlain()
      } else if let edit = delta.edits[0] {
        list.commit(edit, stamp: stamp, context: seen)
      } else {
        list.rollBack()
      }
      if isPlain {
        other.commitPlain()
      } else if let edit = delta.edits[0] {
        other.commit(edit, stamp: stamp, context: seen)
      } else {
        other.rollBack()
      }
      #expect(list == other)
      #expect(!list.hasPending)
      seen.insert(head.dot)
    }
    #expect(shortCount > 5)
  }

  /// Up to 127 bytes are written in their place, with a length of one byte.
  @Test(arguments: [1, 100, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 400])
  func `an edit comes back as it was, however long it is`(count: Int) throws {
    var list = ListState(
      [.int(1)], stamp: Stamp(dot: Dot(device: Self.own, sequence: 1), time: 1_000),
      isCreated: false)
    list.insert(.string(String(repeating: "a", count: count)), at: 1)
    let head = Self.head(3, field: "items")
    var copy = list
    let (collected, made) = (copy.collect(), list.stroke())
    let (edit, stroke) = (try #require(collected), try #require(made))
    var encoder = DeltaEncoder()
    var bytes: [UInt8] = []
    encoder.encode(Self.first(), heap: [], into: &bytes)
    // Names the field.
    let before = Self.delta(Self.head(2, field: "items"), edit)
    encoder.encode(before, heap: [], into: &bytes)
    let isShort = Self.put(
      head, stroke, of: &list, or: Delta(), by: &encoder, into: &bytes)
    #expect(isShort)
    var decoder = DeltaDecoder()
    var reader = ByteReader(bytes)
    var delta = Delta()
    try decoder.decode(&reader, dot: Self.first().dot, into: &delta)
    try decoder.decode(&reader, dot: before.dot, into: &delta)
    try decoder.decode(&reader, dot: head.dot, into: &delta)
    #expect(reader.isAtEnd)
    #expect(delta.edits[0] == edit)
  }

  /// A repair goes on behind damage, where names may have been given that it does not know.
  @Test func `behind lost deltas what they named is refused, and the rest is read`() throws {
    var encoder = DeltaEncoder()
    var texts: [[UInt8]] = [[], [], [], [], []]
    encoder.encode(Self.first(), heap: [], into: &texts[0])
    var edit = ListEdit()
    edit.deleted = [
      ListEdit.Span(first: NodeID(Dot(device: Self.own, sequence: 1), 3), count: 2)
    ]
    for (index, field) in ["items", "lines", "lines", "items"].enumerated() {
      let delta = Self.delta(Self.head(UInt64(index) + 2, field: field), edit)
      encoder.encode(delta, heap: [], into: &texts[index + 1])
    }
    var decoder = DeltaDecoder()
    var delta = Delta()
    func read(_ index: Int) throws(DecodeError) {
      var reader = ByteReader(texts[index])
      let dot = Dot(device: Self.own, sequence: UInt64(index) + 1)
      try decoder.decode(&reader, dot: dot, into: &delta)
    }
    try read(0)
    try read(1)
    #expect(!decoder.hasSkipped)
    // The first that says "lines" is lost.
    decoder.skipDamage()
    #expect(decoder.hasSkipped)
    #expect(throws: DecodeError.malformed("a name that was lost")) { try read(3) }
    // There may be more such places.
    decoder.skipDamage()
    try read(4)
    #expect(delta.columns.map(\.field) == ["items"])
    #expect(delta.edits[0] == edit)
  }

  /// The same of devices, which are numbered as names are.
  @Test func `behind lost deltas the devices that they brought are refused`() throws {
    var encoder = DeltaEncoder()
    var texts: [[UInt8]] = [[], [], [], [], []]
    encoder.encode(Self.first(), heap: [], into: &texts[0])
    var edits: [ListEdit] = []
    for (index, device) in [8, 9, 9, 8].enumerated() as EnumeratedSequence<[UInt64]> {
      let dot = Dot(device: DeviceID(rawValue: device), sequence: 1)
      var edit = ListEdit()
      edit.deleted = [ListEdit.Span(first: NodeID(dot, 3), count: 2)]
      edits.append(edit)
      let delta = Self.delta(Self.head(UInt64(index) + 2, field: "items"), edit)
      encoder.encode(delta, heap: [], into: &texts[index + 1])
    }
    var decoder = DeltaDecoder()
    var delta = Delta()
    func read(_ index: Int) throws(DecodeError) {
      var reader = ByteReader(texts[index])
      let dot = Dot(device: Self.own, sequence: UInt64(index) + 1)
      try decoder.decode(&reader, dot: dot, into: &delta)
    }
    try read(0)
    try read(1)
    // The one that brought the second device is lost.
    decoder.skipDamage()
    #expect(throws: DecodeError.malformed("a device that was lost")) { try read(3) }
    decoder.skipDamage()
    try read(4)
    #expect(delta.edits[0] == edits[3])
  }
}
