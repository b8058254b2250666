import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// A segment is sealed before its frames are more than its footer can name.
struct CrowdedSegmentTests {
  @Test(arguments: [false, true])
  func `a segment of many small commits makes room for another one`(isTyped: Bool) throws {
    let device = try StoreDevice(1)
    try device.store.insert("r", ["n": 0, "l": .list(["a"])])
    try device.store.sync()
    try device.store.withState { guarded throws(StoreError) in
      guard let segment = guarded.tail.segment else { throw StoreError(.closed, "no segment") }
      let item = SegmentFooter.Item(
        device: device.id.rawValue, sequence: 1, offset: UInt32(SegmentHeader.size))
      guarded.tail.segment = ActiveSegment(
        header: segment.header, file: segment.file, end: segment.end, allocated: segment.end,
        items: Array(repeating: item, count: ActiveSegment.framesMax - 1), previousChain: 0)
    }
    var numbers: [UInt64?] = []
    for n in 1...3 {
      if isTyped {
        try device.store.edit(table: "t", id: RecordName("r"), field: "l", .append(.int(Int64(n))))
      } else {
        try device.store.set("r", ["n": .int(Int64(n))])
      }
      try device.store.sync()
      numbers.append(try device.store.withState { $0.tail.segment?.header.number })
    }
    #expect(numbers == [1, 2, 2])
  }
}
