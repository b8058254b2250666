import CairnDisk
import TestSupport
import Testing

@Suite struct PageRoomTests {
  @Test func `a page that is kept is there, and no other`() {
    let room = PageRoom(pages: 3)
    let page = SeededRandom(1).bytes(4096)
    #expect(!room.holds(1))
    room.keep(1, page)
    #expect([-1, 0, 1, 2, 3].map(room.holds) == [false, false, true, false, false])
    #expect(
      (0..<8).map { UInt8(truncatingIfNeeded: room.u64(1, at: 4088) >> ($0 * 8)) }
        == Array(page.suffix(8)))
    #expect(
      (0..<4).map { UInt8(truncatingIfNeeded: room.u32(1, at: 5) >> ($0 * 8)) }
        == Array(page[5..<9]))
    // It stays the first that was kept.
    room.keep(1, [UInt8](repeating: 0, count: 4096))
    #expect(UInt8(truncatingIfNeeded: room.u32(1, at: 0)) == page[0])
  }

  @Test func `so many are kept as may be, the first that come`() {
    let room = PageRoom(pages: 5, keeping: 2)
    for page in [3, 3, 0, 4, 1] { room.keep(page, [UInt8](repeating: UInt8(page), count: 4096)) }
    #expect((0..<5).map(room.holds) == [true, false, false, true, false])
    #expect(room.u32(3, at: 0) == 0x0303_0303 && room.u32(0, at: 4092) == 0)
    let none = PageRoom(pages: 1, keeping: 0)
    none.keep(0, [UInt8](repeating: 7, count: 4096))
    #expect(!none.holds(0))
    // Those that are always kept take nobody's place.
    let both = PageRoom(pages: 3, keeping: 1)
    for page in [0, 1, 2] {
      both.keep(page, [UInt8](repeating: 7, count: 4096), always: page != 1)
    }
    #expect((0..<3).map(both.holds) == [true, true, true])
    none.keep(0, [UInt8](repeating: 7, count: 4096), always: true)
    #expect(none.holds(0))
  }

  @Test func `what is no page is not kept`() {
    let room = PageRoom(pages: 1)
    room.keep(0, [1, 2, 3])
    room.keep(1, [UInt8](repeating: 7, count: 4096))
    room.keep(-1, [UInt8](repeating: 7, count: 4096))
    #expect(!room.holds(0))
  }

  @Test(arguments: [0, -1, Int.max, Int.max / 4097])
  func `without room nothing is kept`(_ pages: Int) {
    let room = PageRoom(pages: pages)
    room.keep(0, [UInt8](repeating: 7, count: 4096))
    #expect(!room.holds(0))
  }
}
