import CairnBytes
import TestSupport
import Testing

struct PartitionPointTests {
  @Test func `the first for which it is true, after few questions`() {
    for count in 0..<70 {
      let numbers = Array(0..<count)
      for place in 0...count {
        var asked = 0
        let found = numbers.partitionPoint {
          asked += 1
          return $0 >= place
        }
        #expect(found == place)
        #expect(asked <= Int.bitWidth - count.leadingZeroBitCount)
      }
    }
  }

  @Test func `in parts of collections it is one of their own indexes`() {
    let numbers = [9, 9, 1, 3, 3, 3, 8, 0]
    #expect(numbers[2..<7].partitionPoint { $0 >= 3 } == 3)
    #expect(numbers[2..<7].partitionPoint { $0 > 3 } == 6)
    #expect(numbers[2..<7].partitionPoint { _ in false } == 7)
    #expect(numbers[2..<2].partitionPoint { _ in true } == 2)
    #expect((100..<200).partitionPoint { $0 * $0 > 20_000 } == 142)
  }

  private struct Failure: Error {}

  @Test func `what the question throws is thrown`() {
    #expect(throws: Failure.self) {
      try [1, 2, 3].partitionPoint { (number: Int) throws(Failure) -> Bool in
        if number == 2 { throw Failure() }
        return true
      }
    }
  }
}
