import CairnBytes
import CairnMerge
import TestSupport
import Testing

/// A keystroke's delta is written in a short way, as the bytes that the long one writes.
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

  private static func edit(_ random: SeededRandom) -> ListEdit {
    var list = ListState(
      (0..<4).map { FieldValue.int($0) },
      stamp: Stamp(dot: Dot(device: random.coin() ? own : other, sequence: 1), time: 1_000),
      isCreated: false)
    for _ in 0...random.below(4) {
      let index = random.below(list.count)
      switch random.below(4) {
      case 0: list.remove(at: index)
      case 1: list.replace(at: index, with: .string("new"))
      case 2: list.move(from: index, to: random.below(list.count))
      default: list.insert(.string(random.coin() ? "a" : "longer"), at: index)
      }
      if list.count == 0 { break }
    }
    return list.collect() ?? ListEdit()
  }

  private static func splices(_ random: SeededRandom) -> ListSplices {
    var splices = ListSplices()
    for _ in 0..<random.below(3) {
      splices.steps.append(
        ListSplices.Step(skipped: random.below(300), deleted: random.below(3), inserted: 1))
      splices.inserted.append(.string("b"))
    }
    return splices
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `both ways write the same bytes`(seed: UInt64) {
    let random = SeededRandom(seed)
    var (long, short) = (DeltaEncoder(), DeltaEncoder())
    var (longBytes, shortBytes): ([UInt8], [UInt8]) = ([], [])
    long.encode(ListDeltaTests.first(), heap: [], into: &longBytes)
    short.encode(ListDeltaTests.first(), heap: [], into: &shortBytes)
    for sequence in 2..<8 as Range<UInt64> {
      var change = ListDelta()
      change.dot = Dot(device: ListDeltaTests.own, sequence: sequence)
      change.time = 1_000 + Int64(sequence) * Int64(random.below(1_000))
      if random.coin() {
        change.dependencies = [Dot(device: ListDeltaTests.other, sequence: sequence)]
      }
      change.table = random.coin() ? "texts" : "more"
      change.field = random.coin() ? "items" : "lines"
      change.reference = UInt32(random.below(2))
      change.isSpliced = random.coin()
      var delta = Delta()
      (delta.dot, delta.time) = (change.dot, change.time)
      delta.dependencies = change.dependencies
      delta.records = [Delta.RecordEntry(flags: 0, reference: change.reference)]
      (delta.rows, delta.tags, delta.words) = ([0], [CellTag.none], [0])
      if change.isSpliced {
        change.splices = ListDeltaTests.splices(random)
        delta.splices[0] = change.splices
      } else {
        change.edit = ListDeltaTests.edit(random)
        delta.edits[0] = change.edit
      }
      delta.columns = [
        Delta.Column(
          field: change.field, operation: change.isSpliced ? .splice : .edit, cells: 0..<1)
      ]
      delta.sections = [Delta.Section(table: change.table, records: 0..<1, columns: 0..<1)]
      long.encode(delta, heap: [], into: &longBytes)
      short.encode(&change, into: &shortBytes)
      #expect(longBytes == shortBytes)
    }
  }

  /// Up to 127 bytes are written in their place, with a length of one byte.
  @Test(arguments: [1, 100, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 400])
  func `an edit comes back as it was, however long it is`(count: Int) throws {
    var list = ListState(
      [.int(1)], stamp: Stamp(dot: Dot(device: Self.own, sequence: 1), time: 1_000),
      isCreated: false)
    list.insert(.string(String(repeating: "a", count: count)), at: 1)
    var change = ListDelta()
    (change.dot, change.time) = (Dot(device: Self.own, sequence: 2), 2_000)
    (change.table, change.field) = ("texts", "items")
    change.edit = list.collect() ?? ListEdit()
    #expect(change.edit != ListEdit())
    var encoder = DeltaEncoder()
    var bytes: [UInt8] = []
    encoder.encode(Self.first(), heap: [], into: &bytes)
    encoder.encode(&change, into: &bytes)
    var decoder = DeltaDecoder()
    var reader = ByteReader(bytes)
    var delta = Delta()
    try decoder.decode(&reader, dot: Self.first().dot, into: &delta)
    try decoder.decode(&reader, dot: change.dot, into: &delta)
    #expect(reader.isAtEnd)
    #expect(delta.edits[0] == change.edit)
  }

  /// A repair goes on behind damage, where names may have been given that it does not know.
  @Test func `behind lost deltas what they named is refused, and the rest is read`() throws {
    var encoder = DeltaEncoder()
    var texts: [[UInt8]] = [[], [], [], [], []]
    encoder.encode(Self.first(), heap: [], into: &texts[0])
    var changes: [ListDelta] = []
    for (index, field) in ["items", "lines", "lines", "items"].enumerated() {
      var change = ListDelta()
      change.dot = Dot(device: Self.own, sequence: UInt64(index) + 2)
      (change.time, change.table, change.field) = (2_000, "texts", field)
      change.edit.deleted = [
        ListEdit.Span(first: NodeID(Dot(device: Self.own, sequence: 1), 3), count: 2)
      ]
      encoder.encode(&change, into: &texts[index + 1])
      changes.append(change)
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
    #expect(delta.edits[0] == changes[3].edit)
  }
}
