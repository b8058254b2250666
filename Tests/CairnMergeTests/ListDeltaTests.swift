import CairnBytes
import TestSupport
import Testing

@testable import CairnMerge

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

  /// The bytes of one edit, or of splices, as the format says: a length, and that many.
  private static func tail(_ change: ListDelta) -> (part: Int, bytes: [UInt8]) {
    var (part, out): ([UInt8], [UInt8]) = ([], [])
    if change.isSpliced {
      ListSplicesCoding.encode(change.splices, into: &part)
    } else {
      let devices = ListEditCoding.encode(change.edit, dot: change.dot, into: &part)
      out.putVarint(devices.count)
      // The scope has named the author of the list already, if it is another one.
      for _ in devices { out.putVarint(UInt64(0)) }
    }
    out.putBlob(part)
    return (part.count, out)
  }

  private static func change(
    _ text: String, isSpliced: Bool, root: DeviceID
  ) -> ListDelta {
    let stamp = Stamp(dot: Dot(device: root, sequence: 1), time: 1_000)
    var list = ListState([.string("a")], stamp: stamp, isCreated: false)
    list.insert(.string(text), at: 1)
    var change = ListDelta()
    change.dot = Dot(device: own, sequence: 2)
    change.time = 2_000
    (change.table, change.field, change.isSpliced) = ("texts", "items", isSpliced)
    if isSpliced {
      change.splices.steps = [ListSplices.Step(skipped: 1, deleted: 0, inserted: 1)]
      change.splices.inserted.append(.string(text))
    } else {
      change.edit = list.collect() ?? ListEdit()
    }
    return change
  }

  /// The same as a delta that may have anything.
  private static func general(_ change: ListDelta) -> Delta {
    var delta = Delta()
    (delta.dot, delta.time) = (change.dot, change.time)
    delta.records = [Delta.RecordEntry(flags: 0, reference: change.reference)]
    (delta.rows, delta.tags, delta.words) = ([0], [CellTag.none], [0])
    if change.isSpliced { delta.splices[0] = change.splices } else { delta.edits[0] = change.edit }
    delta.columns = [
      Delta.Column(
        field: change.field, operation: change.isSpliced ? .splice : .edit, cells: 0..<1)
    ]
    delta.sections = [Delta.Section(table: change.table, records: 0..<1, columns: 0..<1)]
    return delta
  }

  /// A short edit is made in its place, where its length takes one byte.
  @Test(arguments: [false, true], [own, other])
  func `lengths of one, two and three bytes are right where they change`(
    isSpliced: Bool, root: DeviceID
  ) throws {
    var parts: Set<Int> = []
    for length in Array(90..<140) + Array(16_350..<16_400) {
      var change = ListDeltaTests.change(
        String(repeating: "x", count: length), isSpliced: isSpliced, root: root)
      let (part, wanted) = ListDeltaTests.tail(change)
      parts.insert(part)
      var (long, short) = (DeltaEncoder(), DeltaEncoder())
      var first = ListDeltaTests.first()
      // Names the other device, as the first one of the scope.
      first.dependencies = [Dot(device: ListDeltaTests.other, sequence: 1)]
      var (longBytes, shortBytes): ([UInt8], [UInt8]) = ([], [])
      long.encode(first, heap: [], into: &longBytes)
      short.encode(first, heap: [], into: &shortBytes)
      let start = shortBytes.count
      long.encode(ListDeltaTests.general(change), heap: [], into: &longBytes)
      short.encode(&change, into: &shortBytes)
      #expect(shortBytes == longBytes, "\(length)")
      #expect(Array(shortBytes[start...].suffix(wanted.count)) == wanted, "\(length)")
    }
    #expect(parts.isSuperset(of: [126, 127, 128, 129, 16_382, 16_383, 16_384, 16_385]))
  }
}
