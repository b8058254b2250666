import CairnBytes
import CairnMerge
import TestSupport
import Testing

/// Reading the items of a list that was stored passes over what only merging needs.
struct ListReadingTests {
  private func stamp(_ sequence: UInt64) -> Stamp {
    let dot = Dot(device: DeviceID(rawValue: 3), sequence: sequence)
    return Stamp(dot: dot, time: 1_700_000_000_000 + Int64(sequence) * 90)
  }

  /// A record whose field holds a list that was typed item by item, and what it shows.
  private func record(_ values: [FieldValue], _ random: SeededRandom) -> RecordState {
    var list = ListState([], stamp: stamp(1), isCreated: false)
    for (index, value) in values.enumerated() {
      list.insert(value, at: random.below(list.count + 1))
      if random.below(4) == 0 { list.remove(at: random.below(list.count)) }
      let stamp = stamp(UInt64(index) + 2)
      guard let edit = list.collect() else {
        list.rollBack()
        continue
      }
      list.commit(edit, stamp: stamp, context: VersionVector([stamp.dot]))
    }
    var register = Register(.list([]), stamp: stamp(1))
    register.lists = [list]
    return RecordState(
      presences: [Presence(stamp: stamp(1), born: [])], fields: ["text": register])
  }

  private func check(_ state: RecordState, _ note: String) throws {
    var bytes: [UInt8] = []
    RecordStateCoding.encode(state, into: &bytes)
    let shown = try RecordStateCoding.decode(bytes, 0..<bytes.count).visible(
      "text", rule: .remote)
    let items = try #require(
      try RecordStateCoding.listItems(of: "text", bytes, 0..<bytes.count))
    #expect(shown == .list(items), "\(note)")
    #expect(shown == state.visible("text", rule: .remote), "\(note)")
    #expect(
      try RecordStateCoding.listCount(of: "text", bytes, 0..<bytes.count) == items.count)
  }

  @Test func `letters, longer texts and other values read as the state has them`() throws {
    let texts: [FieldValue] = ["a", "\n", "\u{7F}", "é", "", "word", "🪨", "\u{0}"].map {
      .string($0)
    }
    let others: [FieldValue] = [.int(7), .bool(true), .double(0.5), .bytes([97]), .date(5)]
    for seed in 0..<60 as Range<UInt64> {
      let random = SeededRandom(seed)
      let kinds = [Array(texts.prefix(3)), texts, texts + others][Int(seed % 3)]
      let values = (0..<random.below(300)).map { _ in kinds[random.below(kinds.count)] }
      try check(record(values, random), "seed \(seed)")
    }
  }

  @Test func `a letter that is no UTF-8 is refused`() throws {
    let state = record([.string("é")], SeededRandom(1))
    var bytes: [UInt8] = []
    RecordStateCoding.encode(state, into: &bytes)
    let place = try #require(bytes.lastIndex(of: 0xA9))
    bytes[place] = 0x41
    #expect(throws: DecodeError.self) {
      try RecordStateCoding.listItems(of: "text", bytes, 0..<bytes.count)
    }
  }

  @Test func `a list that is cut anywhere is refused`() throws {
    let random = SeededRandom(5)
    let letters = (0..<60).map { _ in FieldValue.string(["x", "y", "zz"][random.below(3)]) }
    var bytes: [UInt8] = []
    RecordStateCoding.encode(record(letters, random), into: &bytes)
    // What comes last says that nothing was moved and nothing replaced: reading stops before it.
    for end in 0..<(bytes.count - 2) {
      #expect(throws: DecodeError.self, "cut at \(end)") {
        try RecordStateCoding.listItems(of: "text", bytes, 0..<end)
      }
      // The same where nothing lies behind the cut.
      let left = Array(bytes[..<end])
      #expect(throws: DecodeError.self, "cut at \(end)") {
        try RecordStateCoding.listItems(of: "text", left, 0..<end)
      }
    }
  }

  @Test func `more items than there are bits for are refused before room is made`() throws {
    let state = record(Array(repeating: .bool(true), count: 3), SeededRandom(2))
    var bytes: [UInt8] = []
    RecordStateCoding.encode(state, into: &bytes)
    // Millions more, whatever a byte says: one of them is the run's count.
    var asked: [Int] = []
    var refused = 0
    for place in bytes.indices where bytes[place] < 0x80 {
      let bent =
        bytes[..<place] + [bytes[place] | 0x80, 0x80, 0x80, 0x04] + bytes[(place + 1)...]
      do {
        _ = try RecordStateCoding.forEachListItem(
          of: "text", Array(bent), 0..<bent.count, count: { asked.append($0) }) { _ in }
      } catch { refused += 1 }
    }
    #expect(refused > 0 && asked.allSatisfy { $0 <= 8 * (bytes.count + 3) })
  }
}
