import CairnMerge
import Testing

@testable import CairnStore

/// Stamps that come in a row get one number: the one that they have in this table.
struct StampRunTests {
  private func stamp(_ sequence: UInt64) -> Stamp {
    Stamp(dot: Dot(device: DeviceID(rawValue: 7), sequence: sequence), time: Int64(sequence))
  }

  @Test func `the last stamp of a table is none of the one that takes its place`() throws {
    var old = StampTable()
    for sequence in 1...4 as ClosedRange<UInt64> { _ = old.add(stamp(sequence)) }
    let again = old.add(stamp(4))
    #expect(again == 4 && old.count == 4)
    var new = old.emptied
    #expect(new.count == 0 && new.known(DeviceID(rawValue: 7)) == 0)
    let number = new.add(stamp(4))
    try #require(new.count == 1)
    #expect(new[number] == stamp(4))
    #expect(new.isSeen(number, by: [4]) && !new.isSeen(number, by: [3]))
    #expect(!new.isSeen(number, by: []), "of a device that nobody has heard of")
    // Another one in between, and a settled one, which has no number of its own.
    let settled = new.add(.settled)
    let same = new.add(stamp(4))
    #expect(settled == StampTable.settled && same == number && new.count == 1)
    let second = new.add(stamp(2))
    let third = new.add(stamp(4))
    #expect(new[second] == stamp(2) && new[third] == stamp(4) && new[number] == stamp(4))
  }
}
