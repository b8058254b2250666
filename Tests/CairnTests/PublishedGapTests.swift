import Testing

@testable import Cairn

/// How many own deltas the doctor misses, and which is the first: as if it had gone through all of
/// them, which nobody could do when a damaged file says that there are 2^62.
@Suite struct PublishedGapTests {
  private func counted(
    _ numbers: ClosedRange<UInt64>, _ ranges: [ClosedRange<UInt64>]
  ) -> [UInt64] {
    let missing = numbers.filter { number in !ranges.contains { $0.contains(number) } }
    return missing.first.map { [$0, UInt64(missing.count)] } ?? []
  }

  private func gaps(
    _ numbers: ClosedRange<UInt64>, _ ranges: [ClosedRange<UInt64>]
  ) -> [UInt64] {
    PublishedCheck.gaps(of: numbers, in: ranges).map { [$0.first, $0.count] } ?? []
  }

  @Test func `gaps are those that counting finds`() {
    var found = 0
    for numbers in [1...6, 3...5, 4...4] as [ClosedRange<UInt64>] {
      // All sets of up to two ranges within 0 to 7, whichever comes first.
      let all = (0...7 as ClosedRange<UInt64>).flatMap { first in
        (first...7).map { first...$0 }
      }
      for a in all {
        #expect(gaps(numbers, [a]) == counted(numbers, [a]), "\(numbers) \(a)")
        for b in all where gaps(numbers, [a, b]) != counted(numbers, [a, b]) { found += 1 }
      }
      #expect(gaps(numbers, []) == counted(numbers, []))
    }
    #expect(found == 0)
  }

  @Test func `however many there are said to be`() {
    #expect(gaps(2...(1 << 62), [5...6]) == [2, (1 << 62) - 3])
    #expect(gaps(1...UInt64.max, [1...1, UInt64.max...UInt64.max]) == [2, .max - 2])
    #expect(gaps(1...UInt64.max, []) == [1, .max])
    #expect(gaps(1...UInt64.max, [0...UInt64.max]) == [])
  }
}
