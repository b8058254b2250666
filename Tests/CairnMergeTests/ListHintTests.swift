import TestSupport
import Testing

@testable import CairnMerge

/// What lists guess before they look: what hangs on the node that came last, and which delta made a
/// node where each keystroke is one.
struct ListHintTests {
  private static let (own, other) = (DeviceID(rawValue: 7), DeviceID(rawValue: 3))
  private static let root = Stamp(dot: Dot(device: own, sequence: 1), time: 1)

  private func edit(_ list: inout ListState, _ random: SeededRandom) {
    if list.count > 0, random.below(3) == 0 { return list.remove(at: random.below(list.count)) }
    // Mostly behind what was typed last, or before it.
    let index = random.coin() ? list.count : random.below(list.count + 1)
    list.insert(.string("x"), at: index)
  }

  /// Written and read again, whose slots are in another order.
  private func reloaded(_ list: ListState) throws -> ListState {
    var register = Register(.list([]), stamp: Self.root)
    register.lists = [list]
    let state = try #require(RecordState(fields: ["l": register]).reloaded)
    return try #require(state.fields["l"]?.lists.first)
  }

  private func check(_ list: ListState) {
    for slot in 0..<UInt32(list.parents.count) {
      #expect(list.hasRightChildren(slot) == list.parents.contains(slot << 1))
      #expect(list.authors.batch(of: slot) == list.authors.firsts.lastIndex { $0 <= slot })
    }
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `what is guessed is what a look finds`(seed: UInt64) throws {
    let random = SeededRandom(seed)
    var list = ListState([.int(1)], stamp: Self.root, isCreated: false)
    var seen = VersionVector([Self.root.dot])
    for time in 2..<60 as Range<Int64> {
      let isOther = random.below(4) == 0
      let device = isOther ? Self.other : Self.own
      let stamp = Stamp(dot: Dot(device: device, sequence: seen[device] + 1), time: time)
      for _ in 0...(random.below(4) / 2) { edit(&list, random) }
      if isOther {
        // Somebody else has made them, and they come here.
        let made = list.collect()
        list.rollBack()
        if let made { list.apply(made, stamp: stamp, context: seen) }
      } else if let stroke = list.stroke() {
        list.commit(stroke, stamp: stamp)
      } else if let made = list.collect() {
        list.commit(made, stamp: stamp, context: seen)
      } else {
        list.rollBack()
      }
      seen.insert(stamp.dot)
      if random.below(8) == 0 { list = try reloaded(list) }
      check(list)
    }
  }
}
